// Runs one program on a Verilated core, with memories that answer a cycle later at the earliest.
//
//   loop IMAGE MEMORY TRACE BOOT TOHOST END LIMIT SEED PAUSE WATCH BYTES
//
// IMAGE holds stretches of memory: address and size, 32 bits each, and the bytes. MEMORY becomes
// the contents of the data memory and of the instructions at the end. TRACE becomes the records of
// what the core does, unless it is "-". TOHOST is the address of a word whose write ends the run,
// END one of an instruction that does, or 0. PAUSE / 256 is the chance that memory pauses. What a
// vector unit stores in the BYTES from WATCH on becomes records as well. There is no DMA: its
// registers are missing.
//
// The last line of standard output: ENDING CODE CYCLES RETIRED CAUSE PC VALUE, and the cycles lost
// by cause. Before it stand the lines "putchar BYTE".

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

namespace {

@CONSTANTS@

struct Region {
    uint32_t base;
    std::vector<uint8_t> bytes;
    bool holds(uint32_t address) const { return address - base < bytes.size(); }
};

struct Record {
    // 0 retired, 1 trapped: pc, word; 2 x, 3 f: register, value; 4 stored: address, word
    uint32_t kind, first, second;
};

// A port of a vector unit's to memory: 64 bits a request.
struct VectorPort {
    const CData *valid;
    CData *ready;
    const EData *request;
    CData *answered;
    QData *answer;
    std::deque<uint64_t> answers = {};
};

std::vector<VectorPort> vector_ports([[maybe_unused]] Vtop* top) {
    return {@VECTOR_PORTS@};
}

struct Ending {
    std::string name;
    uint32_t code;
};

template <typename Words>
uint32_t field(const Words& words, int low, int width) {
    uint64_t value = words[low / 32];
    if (low % 32 + width > 32) value |= static_cast<uint64_t>(words[low / 32 + 1]) << 32;
    return static_cast<uint32_t>(value >> (low % 32) & ((uint64_t{1} << width) - 1));
}

class Machine {
   public:
    Machine(Vtop* top, uint32_t tohost, uint32_t seed, uint32_t pause, uint32_t watch,
            uint32_t bytes)
        : top_(top), tohost_(tohost), random_(seed * 2654435761u | 1), pause_(pause),
          watch_(watch), bytes_(bytes), ports_(vector_ports(top)) {
        l1_ = {kL1Base, std::vector<uint8_t>(kL1Size)};
        code_ = {kCodeBase, std::vector<uint8_t>(kCodeSize)};
    }

    bool load(const char* name) {
        FILE* file = std::fopen(name, "rb");
        if (!file) return false;
        uint32_t header[2];
        while (std::fread(header, 4, 2, file) == 2) {
            Region* region = find(header[0]);
            if (!region || header[0] - region->base + header[1] > region->bytes.size() ||
                std::fread(&region->bytes[header[0] - region->base], 1, header[1], file) !=
                    header[1]) {
                std::fclose(file);
                return false;
            }
        }
        std::fclose(file);
        return true;
    }

    void save(const char* name) const {
        FILE* file = std::fopen(name, "wb");
        if (!file) return;
        std::fwrite(l1_.bytes.data(), 1, l1_.bytes.size(), file);
        std::fwrite(code_.bytes.data(), 1, code_.bytes.size(), file);
        std::fclose(file);
    }

    // Inputs of a cycle: responses that are due, and whether requests are taken.
    void offer() {
        const bool fetched = !fetched_.empty() && goes();
        top_->fetched___05Fvalid = fetched;
        if (fetched) {
            top_->fetched___05Fpayload = fetched_.front();
            fetched_.pop_front();
        }
        const bool answered = !answers_.empty() && goes();
        top_->responses___05Fvalid = answered;
        if (answered) {
            top_->responses___05Fpayload = answers_.front();
            answers_.pop_front();
        }
        top_->fetches___05Fready = goes();
        top_->requests___05Fready = goes();
        for (VectorPort& port : ports_) {
            *port.ready = goes();
            *port.answered = !port.answers.empty() && goes();
            if (*port.answered) {
                *port.answer = port.answers.front();
                port.answers.pop_front();
            }
        }
    }

    // What is transferred at the clock's edge.
    void take() {
        if (top_->fetches___05Fvalid && top_->fetches___05Fready) {
            const uint32_t address = top_->fetches___05Fpayload;
            fetched_.push_back(code_.holds(address) ? word(code_, address) : 0);
        }
        if (top_->requests___05Fvalid && top_->requests___05Fready) {
            const auto& request = top_->requests___05Fpayload;
            answers_.push_back(access(field(request, kRequestAddress, 32) & ~3u,
                                      field(request, kRequestWrite, 1),
                                      field(request, kRequestMask, 4),
                                      field(request, kRequestData, 32)));
        }
        stored.clear();
        for (VectorPort& port : ports_)
            if (*port.valid && *port.ready) port.answers.push_back(access(port.request));
    }

    // Whether the store that ends the run has: one to a register does with its response.
    bool completed() const { return !by_register_ || answers_.empty(); }

    Ending ending = {"", 0};
    uint32_t trap[3] = {0, 0, 0};  // as the program says
    std::vector<Record> stored;    // in this cycle, where that is watched

   private:
    bool goes() {
        if (pause_ == 0) return true;
        random_ ^= random_ << 13;
        random_ ^= random_ >> 17;
        random_ ^= random_ << 5;
        return (random_ >> 24) >= pause_;
    }

    Region* find(uint32_t address) {
        if (l1_.holds(address)) return &l1_;
        return code_.holds(address) ? &code_ : nullptr;
    }

    static uint32_t word(const Region& region, uint32_t address) {
        uint32_t value;
        std::memcpy(&value, &region.bytes[(address & ~3u) - region.base], 4);
        return value;
    }

    uint64_t access(uint32_t address, bool write, uint32_t mask, uint32_t data) {
        constexpr uint64_t kError = uint64_t{1} << kResponseError;
        if (Region* region = find(address)) {
            if (!write) return static_cast<uint64_t>(word(*region, address)) << kResponseData;
            for (int lane = 0; lane < 4; ++lane)
                if (mask >> lane & 1) region->bytes[address + lane - region->base] = data >> 8 * lane;
            if (address == tohost_ && mask == 15 && (data & 1)) end(data >> 1);
            return 0;
        }
        if (write && mask == 0) return 0;  // it only unlocks
        if (write) {
            const bool before = ending.name.empty(), found = store_register(address, data);
            by_register_ |= before && !ending.name.empty();
            return found ? 0 : kError;
        }
        uint32_t value = 0;
        return load_register(address, &value) ? static_cast<uint64_t>(value) << kResponseData
                                              : kError;
    }

    uint64_t access(const EData* request) {
        const auto part = [&](int low, int width) { return field(request, low, width); };
        const uint32_t address = part(kVectorAddress, 32), mask = part(kVectorMask, 8);
        Region* region = find(address);
        if (!region) {
            std::fprintf(stderr, "the vector unit asks for %#x, where no memory is\n", address);
            std::exit(3);
        }
        uint8_t* bytes = &region->bytes[address - region->base];
        uint64_t value = 0;
        if (!part(kVectorWrite, 1)) {
            std::memcpy(&value, bytes, 8);
            return value;
        }
        for (int half = 0; half < 2; ++half) {
            const uint32_t word = part(kVectorData + 32 * half, 32);
            const uint32_t lanes = mask >> 4 * half & 15;
            for (int lane = 0; lane < 4; ++lane)
                if (lanes >> lane & 1) bytes[4 * half + lane] = word >> 8 * lane;
            if (lanes && address - watch_ < bytes_) stored.push_back({4, address + 4 * half, word});
        }
        return 0;
    }

    void end(uint32_t code) {
        if (ending.name.empty()) ending = {code ? "fail" : "pass", code};
    }

    bool store_register(uint32_t address, uint32_t data) {
        switch (address) {
            case kHostTohost: tohost_value_ = data; if (data & 1) end(data >> 1); return true;
            case kHostPutchar: std::printf("putchar %u\n", data & 0xff); return true;
            case kHostTrapCause: trap[0] = data; return true;
            case kHostTrapPc: trap[1] = data; return true;
            case kHostTrapValue: trap[2] = data; return true;
            case kHostTrapCode: if (ending.name.empty()) ending = {"trap", 1}; return true;
            case kHostHarts: case kBarrierWait: return true;
        }
        return false;
    }

    bool load_register(uint32_t address, uint32_t* value) const {
        switch (address) {
            case kHostTohost: *value = tohost_value_; return true;
            case kHostTrapCause: *value = trap[0]; return true;
            case kHostTrapPc: *value = trap[1]; return true;
            case kHostTrapValue: *value = trap[2]; return true;
            case kHostHarts: *value = 1; return true;
            case kHostPutchar: case kHostTrapCode: case kBarrierWait: return true;
        }
        return false;
    }

    Vtop* top_;
    bool by_register_ = false;
    uint32_t tohost_, random_, pause_, watch_, bytes_, tohost_value_ = 0;
    std::vector<VectorPort> ports_;
    Region l1_, code_;
    std::deque<uint32_t> fetched_;
    std::deque<uint64_t> answers_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 12) return 2;
    const auto context = std::make_unique<VerilatedContext>();
    const auto top = std::make_unique<Vtop>(context.get());
    const auto number = [&](int place) { return std::strtoull(argv[place], nullptr, 0); };
    Machine machine(top.get(), number(5), number(8), number(9), number(10), number(11));
    if (!machine.load(argv[1])) {
        std::fprintf(stderr, "the image %s cannot be loaded\n", argv[1]);
        return 2;
    }
    FILE* trace = std::strcmp(argv[3], "-") ? std::fopen(argv[3], "wb") : nullptr;
    const uint32_t end = number(6);
    const uint64_t limit = number(7);
    const auto edge = [&](int level) { top->clk = level; top->eval(); };
    top->rst = 1;
    for (int i = 0; i < 2; ++i) { edge(0); edge(1); }
    top->rst = 0;
    top->run = 1;
    top->boot = number(4);
    uint64_t cycles = 0, retired = 0, lost[kStallCount] = {};
    int left = -1;  // cycles that results have to arrive after the last instruction
    uint32_t last = 0;
    for (; cycles < limit; ++cycles) {
        top->clk = 0;
        machine.offer();
        top->eval();
        const auto& seen = top->observed;
        const bool done = field(seen, kTraceRetired, 1), trapped = field(seen, kTraceTrapped, 1);
        const auto write = [&](const Record& record) {
            if (trace) std::fwrite(&record, sizeof record, 1, trace);
        };
        if (done || trapped) {
            last = field(seen, kTracePc, 32);
            write({trapped ? 1u : 0u, last, field(seen, kTraceWord, 32)});
            retired += done;
            if (done && left < 0 && end && last == end) left = 1000;
        }
        if (field(seen, kTraceXWrite, 1))
            write({2, field(seen, kTraceXRegister, 5), field(seen, kTraceXValue, 32)});
        if (field(seen, kTraceLateXWrite, 1))
            write({2, field(seen, kTraceLateXRegister, 5), field(seen, kTraceLateXValue, 32)});
        if (field(seen, kTraceLateFWrite, 1))
            write({3, field(seen, kTraceLateFRegister, 5), field(seen, kTraceLateFValue, 32)});
        for (int cause = 0; cause < kStallCount; ++cause) lost[cause] += top->stalls >> cause & 1;
        machine.take();
        for (const Record& record : machine.stored) write(record);
        edge(1);
        if (field(top->halt, kHaltHalted, 1)) {
            machine.ending = {"halt", 1};
            for (int place = 0; place < 3; ++place)
                machine.trap[place] =
                    field(top->halt, kHaltFields[place], place ? 32 : kHaltCauseWidth);
        }
        if (!machine.ending.name.empty() && machine.completed()) { ++cycles; break; }
        if (left > 0 && --left == 0) { machine.ending = {"end", 0}; break; }
    }
    if (machine.ending.name.empty()) machine.ending = {"limit", 1};
    top->final();
    if (trace) std::fclose(trace);
    machine.save(argv[2]);
    std::printf("%s %u %llu %llu %u %u %u %u", machine.ending.name.c_str(), machine.ending.code,
                static_cast<unsigned long long>(cycles), static_cast<unsigned long long>(retired),
                machine.trap[0], machine.trap[1], machine.trap[2], last);
    for (const uint64_t count : lost) std::printf(" %llu", static_cast<unsigned long long>(count));
    std::printf("\n");
    return 0;
}
