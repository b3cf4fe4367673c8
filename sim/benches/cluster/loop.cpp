// Runs one program on a Verilated cluster, with outer memory and a host around it.
//
//   loop IMAGE MEMORY BOOT TOHOST LIMIT LATENCY RATE SEED PAUSE [DUMP FROM TO]
//
// IMAGE holds stretches of memory: address and size, 32 bits each, and the bytes. The host stores
// those of the cluster through its port; then the program begins. MEMORY becomes such stretches:
// the L1, the instruction memory, and outer memory as far as it was used; "-" writes none. TOHOST
// is the address of a word of memory whose store ends the run, or 0. Outer memory answers LATENCY
// cycles after a request and moves RATE bytes a cycle. PAUSE / 256 is the chance that it, or the
// host that takes what is printed, pauses for a cycle. DUMP becomes a VCD of the cycles FROM to TO
// of the program, if the model can dump; a cycle takes 10 units of its time.
//
// Standard output: a line "putchar BYTE" for each byte that is printed, then lines of a name and
// numbers, as the end of this file prints them.

#include <sys/mman.h>

#include <chrono>
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
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

namespace {

@CONSTANTS@

constexpr uint32_t kBeat = 64;
constexpr int kRest = 100000;  // cycles that the DMA has to come to its end after the program

// What a core shows.
struct Core {
    const EData* halt;
    const EData* trace;
    const EData* stored;
    const CData* stalls;
    const IData* vector;
    uint64_t retired = 0, lost[kStallCount] = {}, vectors[kVectorCount] = {};
    uint32_t pc = 0;
};

std::vector<Core> cores_of(Vtop* top) {
    return {@CORES@};
}

uint64_t field(const EData* words, int low, int width) {
    uint64_t value = 0;
    for (int bit = 0; bit < width;) {
        const int at = low + bit, step = std::min(32 - at % 32, width - bit);
        const uint64_t part = words[at / 32] >> at % 32 & ((uint64_t{1} << step) - 1);
        value |= part << bit;
        bit += step;
    }
    return value;
}

void place(EData* words, int low, int width, uint64_t value) {
    for (int bit = 0; bit < width;) {
        const int at = low + bit, step = std::min(32 - at % 32, width - bit);
        const uint32_t mask = ((uint64_t{1} << step) - 1) << at % 32;
        words[at / 32] = (words[at / 32] & ~mask) | (static_cast<uint32_t>(value >> bit) << at % 32 & mask);
        bit += step;
    }
}

class Chance {
   public:
    Chance(uint32_t seed, uint32_t pause) : state_(seed * 2654435761u | 1), pause_(pause) {}
    bool goes() {
        if (pause_ == 0) return true;
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return (state_ >> 24) >= pause_;
    }

   private:
    uint32_t state_, pause_;
};

// Memory that only the DMA reaches: requests in order, each after the same time.
class Outer {
   public:
    Outer(Vtop* top, uint32_t latency, uint32_t rate, Chance* chance)
        : top_(top), latency_(latency < 1 ? 1 : latency), rate_(rate), chance_(chance) {
        bytes_ = static_cast<uint8_t*>(mmap(nullptr, kOuterSize, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (bytes_ == MAP_FAILED) std::exit(3);
    }

    uint8_t* at(uint32_t offset, uint32_t size) {
        if (used < offset + size) used = offset + size;
        return bytes_ + offset;
    }

    void offer(uint64_t now) {
        const bool answers = !waiting_.empty() && waiting_.front().due <= now && (shown_ || chance_->goes());
        shown_ = answers;
        top_->outer_answers___05Fvalid = answers;
        if (answers) {
            const Answer& first = waiting_.front();
            EData* words = top_->outer_answers___05Fpayload.data();
            place(words, kOuterResponseWrite, 1, first.write);
            for (uint32_t i = 0; i < kBeat / 8; ++i) {
                uint64_t part;
                std::memcpy(&part, first.data + 8 * i, 8);
                place(words, kOuterResponseData + 64 * i, 64, part);
            }
        }
        top_->outer___05Fready = free_ <= 256 * now && chance_->goes();
    }

    void take(uint64_t now) {
        if (top_->outer_answers___05Fvalid && top_->outer_answers___05Fready) {
            waiting_.pop_front();
            shown_ = false;
        }
        if (!top_->outer___05Fvalid || !top_->outer___05Fready) return;
        const EData* words = top_->outer___05Fpayload.data();
        const uint32_t offset = field(words, kOuterRequestAddress, 32) - kOuterBase;
        Answer answer = {now + latency_, field(words, kOuterRequestWrite, 1) != 0, {}};
        if (offset >= kOuterSize || offset % kBeat) {
            std::fprintf(stderr, "the DMA asks for outer memory at %#x\n", offset + kOuterBase);
            std::exit(3);
        }
        uint8_t* bytes = bytes_ + offset;
        if (answer.write) {
            const uint64_t mask = field(words, kOuterRequestMask, 64);
            at(offset, kBeat);
            for (uint32_t i = 0; i < kBeat; ++i)
                if (mask >> i & 1) bytes[i] = field(words, kOuterRequestData + 8 * i, 8);
        } else {
            std::memcpy(answer.data, bytes, kBeat);
        }
        waiting_.push_back(answer);
        if (free_ < 256 * now) free_ = 256 * now;
        free_ += 256 * kBeat / rate_;
    }

    uint32_t used = 0;

   private:
    struct Answer {
        uint64_t due;
        bool write;
        uint8_t data[kBeat];
    };
    Vtop* top_;
    uint8_t* bytes_;
    uint32_t latency_, rate_;
    uint64_t free_ = 0;  // in 1/256 of a cycle
    bool shown_ = false;
    Chance* chance_;
    std::deque<Answer> waiting_;
};

class Machine {
   public:
    Machine(Vtop* top, uint32_t latency, uint32_t rate, uint32_t seed, uint32_t pause)
        : cores(cores_of(top)), top_(top), chance_(seed, pause), outer_(top, latency, rate, &chance_) {
        top_->clk = 0;
        top_->rst = 1;
        for (int i = 0; i < 2; ++i) edges();
        top_->rst = 0;
        top_->host_answers___05Fready = 1;
    }

    // One cycle; what is transferred at its edge is done.
    void tick() {
        top_->clk = 0;
        outer_.offer(now_);
        top_->printed___05Fready = chance_.goes();
        top_->eval();
        outer_.take(now_);
        if (top_->printed___05Fvalid && top_->printed___05Fready)
            std::printf("putchar %u\n", top_->printed___05Fpayload & 0xffu);
        ++now_;
    }

    void edge() {
        top_->clk = 1;
        top_->eval();
    }

    // The host's access to 8 bytes; an answer comes a cycle later.
    uint64_t access(uint32_t address, bool write, uint32_t mask, uint64_t data) {
        EData* words = top_->host___05Fpayload.data();
        place(words, kHostAddress, 32, address);
        place(words, kHostWrite, 1, write);
        place(words, kHostMask, 8, mask);
        place(words, kHostData, 64, data);
        top_->host___05Fvalid = 1;
        for (int patience = 10000;; --patience) {
            tick();
            const bool taken = top_->host___05Fready;
            edge();
            if (taken) break;
            if (patience == 0) lost("the host's port is not ready");
        }
        top_->host___05Fvalid = 0;
        tick();
        const EData* answer = top_->host_answers___05Fpayload.data();
        if (!top_->host_answers___05Fvalid) lost("the host's port does not answer");
        if (field(answer, kHostResponseError, 1)) lost("no memory at an address of the host");
        const uint64_t value = field(answer, kHostResponseData, 64);
        edge();
        return value;
    }

    bool load(const char* name) {
        FILE* file = std::fopen(name, "rb");
        if (!file) return false;
        uint32_t header[2];
        while (std::fread(header, 4, 2, file) == 2) {
            std::vector<uint8_t> bytes(header[1]);
            if (std::fread(bytes.data(), 1, header[1], file) != header[1]) return false;
            put(header[0], bytes);
        }
        std::fclose(file);
        return true;
    }

    void save(const char* name) {
        FILE* file = std::fopen(name, "wb");
        if (!file) return;
        const auto stretch = [&](uint32_t base, uint32_t size) {
            const uint32_t header[2] = {base, size};
            std::fwrite(header, 4, 2, file);
        };
        const uint32_t parts[][2] = {{kL1Base, kL1Size}, {kCodeBase, kCodeSize}};
        for (const auto& part : parts) {
            stretch(part[0], part[1]);
            for (const uint64_t value : read(part[0], part[1] / 8))
                std::fwrite(&value, 8, 1, file);
        }
        stretch(kOuterBase, outer_.used);
        std::fwrite(outer_.at(0, 0), 1, outer_.used, file);
        std::fclose(file);
    }

    std::vector<Core> cores;

   private:
    // Words of 8 bytes, one a cycle as long as nobody else wants them.
    std::vector<uint64_t> read(uint32_t address, uint32_t count) {
        std::vector<uint64_t> found;
        EData* words = top_->host___05Fpayload.data();
        place(words, kHostWrite, 1, 0);
        uint32_t asked = 0;
        for (uint32_t patience = 16 * count + 10000; found.size() < count; --patience) {
            place(words, kHostAddress, 32, address + 8 * asked);
            top_->host___05Fvalid = asked < count;
            tick();
            if (top_->host_answers___05Fvalid)
                found.push_back(field(top_->host_answers___05Fpayload.data(), kHostResponseData, 64));
            asked += top_->host___05Fvalid && top_->host___05Fready;
            edge();
            if (patience == 0) lost("the host's port does not answer");
        }
        top_->host___05Fvalid = 0;
        return found;
    }

    void put(uint32_t address, const std::vector<uint8_t>& bytes) {
        if (address - kOuterBase < kOuterSize) {
            std::memcpy(outer_.at(address - kOuterBase, bytes.size()), bytes.data(), bytes.size());
            return;
        }
        for (size_t at = 0; at < bytes.size();) {
            const uint32_t place_of = (address + at) % 8;
            uint64_t data = 0;
            uint32_t mask = 0;
            for (uint32_t byte = place_of; byte < 8 && at < bytes.size(); ++byte, ++at) {
                data |= static_cast<uint64_t>(bytes[at]) << 8 * byte;
                mask |= 1u << byte;
            }
            access((address + at - 1) & ~7u, true, mask, data);
        }
    }

    [[noreturn]] void lost(const char* why) {
        std::fprintf(stderr, "%s\n", why);
        std::exit(3);
    }

    void edges() {
        edge();
        top_->clk = 0;
        top_->eval();
    }

    Vtop* top_;
    Chance chance_;
    Outer outer_;
    uint64_t now_ = 0;
};

// A stretch of the run as a waveform.
class Dump {
   public:
#if VM_TRACE
    Dump(Vtop* top, int argc, char** argv) : top_(top) {
        if (argc < 13) return;
        name_ = argv[10];
        first_ = std::strtoull(argv[11], nullptr, 0);
        last_ = std::strtoull(argv[12], nullptr, 0);
    }
    void show(uint64_t cycle, int part) {
        if (!trace_ && !name_.empty() && cycle == first_) {
            trace_ = std::make_unique<VerilatedVcdC>();
            top_->trace(trace_.get(), 99);
            trace_->open(name_.c_str());
        }
        if (trace_) trace_->dump(10 * cycle + part);
        if (trace_ && part && cycle == last_) close();
    }
    void close() {
        if (trace_) trace_->close();
        trace_.reset();
        name_.clear();
    }

   private:
    Vtop* top_;
    std::string name_;
    uint64_t first_ = 0, last_ = 0;
    std::unique_ptr<VerilatedVcdC> trace_;
#else
    Dump(Vtop*, int, char**) {}
    void show(uint64_t, int) {}
    void close() {}
#endif
};

struct Ending {
    std::string name;
    uint32_t code = 0, hart = 0, trap[3] = {0, 0, 0};
};

// How the run ends in this cycle, if it does.
bool ends(const Vtop* top, const std::vector<Core>& cores, uint32_t tohost, Ending* ending) {
    const EData* status = top->status.data();
    if (field(status, kStatusEnded, 1)) {
        ending->code = field(status, kStatusCode, 31);
        ending->hart = field(status, kStatusHart, 3);
        const bool by_trap = field(status, kStatusByTrap, 1);
        ending->name = by_trap ? "trap" : ending->code ? "fail" : "pass";
        ending->trap[0] = field(status, kStatusTrapCause, 32);
        ending->trap[1] = field(status, kStatusTrapPc, 32);
        ending->trap[2] = field(status, kStatusTrapValue, 32);
        return true;
    }
    for (size_t hart = 0; hart < cores.size(); ++hart) {
        const Core& core = cores[hart];
        if (field(core.halt, kHaltHalted, 1)) {
            *ending = {"halt", 1, static_cast<uint32_t>(hart), {}};
            ending->trap[0] = field(core.halt, kHaltCause, kHaltCauseWidth);
            ending->trap[1] = field(core.halt, kHaltPc, 32);
            ending->trap[2] = field(core.halt, kHaltValue, 32);
            return true;
        }
        if (tohost && top->stores >> hart & 1 && field(core.stored, kStoredAddress, 32) == tohost &&
            field(core.stored, kStoredMask, 1) && field(core.stored, kStoredData, 1)) {
            const uint32_t code = field(core.stored, kStoredData, 32) >> 1;
            *ending = {code ? "fail" : "pass", code, static_cast<uint32_t>(hart), {}};
            return true;
        }
    }
    return false;
}

void count(Core* core) {
    if (field(core->trace, kTraceRetired, 1) || field(core->trace, kTraceTrapped, 1))
        core->pc = field(core->trace, kTracePc, 32);
    core->retired += field(core->trace, kTraceRetired, 1);
    if (*core->stalls)
        for (int cause = 0; cause < kStallCount; ++cause)
            core->lost[cause] += *core->stalls >> cause & 1;
    const auto is = [core](int place) { return (*core->vector >> place & 1) != 0; };
    const uint64_t floats = *core->vector >> kVectorFloatBytes & 0xff;
    const uint64_t products = *core->vector >> kVectorProductBytes & 0xff;
    core->vectors[0] += floats;
    core->vectors[1] += products;
    const int kind = floats || products      ? 2
                     : !is(kVectorLive)      ? (is(kVectorProducts) ? 5 : 3)
                     : is(kVectorMemory)     ? 4
                     : is(kVectorProducts)   ? 5
                                             : 6;
    ++core->vectors[kind];
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 10) return 2;
    const auto context = std::make_unique<VerilatedContext>();
#if VM_TRACE
    context->traceEverOn(true);
#endif
    const auto top = std::make_unique<Vtop>(context.get());
    const auto number = [&](int place) { return std::strtoull(argv[place], nullptr, 0); };
    Machine machine(top.get(), number(6), number(7), number(8), number(9));
    if (!machine.load(argv[1])) {
        std::fprintf(stderr, "the image %s cannot be loaded\n", argv[1]);
        return 2;
    }
    const uint32_t tohost = number(4);
    const uint64_t limit = number(5);
    top->boot = number(3);
    top->run = 1;
    uint64_t cycles = 0, sums[kActivityCount] = {};
    Ending ending;
    Dump dump(top.get(), argc, argv);
    const auto began = std::chrono::steady_clock::now();
    for (bool over = false; !over && cycles < limit; ++cycles) {
        machine.tick();
        dump.show(cycles, 0);
        for (Core& core : machine.cores) count(&core);
        for (int part = 0; part < kActivityCount; ++part)
            sums[part] += top->activity >> kActivityLow[part] & ((1u << kActivityWidth[part]) - 1);
        over = ends(top.get(), machine.cores, tohost, &ending);
        machine.edge();
        dump.show(cycles, 5);
    }
    dump.close();
    if (ending.name.empty()) ending = {"limit", 1, 0, {}};
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
    for (int rest = kRest; rest && top->activity >> kActivityLow[kActivityDmaBusy] & 1; --rest) {
        machine.tick();
        machine.edge();
    }
    if (std::strcmp(argv[2], "-")) machine.save(argv[2]);
    top->final();
    std::printf("ending %s\ncode %u\nhart %u\ntrap %u %u %u\ncycles %llu\nseconds %.6f\n",
                ending.name.c_str(), ending.code, ending.hart, ending.trap[0], ending.trap[1],
                ending.trap[2], static_cast<unsigned long long>(cycles), taken.count());
    std::printf("activity");
    for (const uint64_t sum : sums) std::printf(" %llu", static_cast<unsigned long long>(sum));
    for (const Core& core : machine.cores) {
        std::printf("\ncore %u %llu", core.pc, static_cast<unsigned long long>(core.retired));
        for (const uint64_t lost : core.lost)
            std::printf(" %llu", static_cast<unsigned long long>(lost));
        for (const uint64_t counted : core.vectors)
            std::printf(" %llu", static_cast<unsigned long long>(counted));
    }
    std::printf("\n");
    return 0;
}
