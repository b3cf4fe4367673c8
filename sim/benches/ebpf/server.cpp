// Keeps one policy engine alive and does what the lines of standard input say.
//
//   W ADDRESS VALUE                      write a register; answers with the bus's response
//   R ADDRESS                            read a register; answers "RESPONSE VALUE"
//   E ENGINE LENGTH TAG PROGRAM TIME WORD...   offer an event and its context; no answer
//   V ENGINE                             wait for a verdict; answers "R0 CAUSE TAG INSTRUCTIONS
//                                        CYCLE-OF-EVENT CYCLE-OF-VERDICT WORD..."
//   X                                    reset; no answer
//   T CYCLES                             let time go by; answers with the cycle
//   D FILE, d                            begin and end a dump, in a model that can
//   Q                                    end
//
// Numbers are hexadecimal. A wait that takes too long is answered with "timeout".

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "Vtop.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

@HOST_PORT@

namespace {

struct Event {
    uint64_t length, tag, program, time_ns;
};

struct Verdict {
    uint64_t r0, cause, tag, instructions, begin, end;
    std::vector<uint64_t> words;
    size_t missing;  // words that are still to come
};

struct Port {
    CData &event_valid, &event_ready;
    VlWide<4>& event;
    CData &context_valid, &context_ready;
    QData& context;
    CData &verdict_valid, &verdict_ready;
    VlWide<4>& verdict;
    CData &after_valid, &after_ready;
    QData& after;
    std::deque<Event> events = {};
    std::deque<uint64_t> contexts = {};
    std::deque<Verdict> verdicts = {};
    std::array<uint64_t, 65536> lengths = {};
    std::array<uint64_t, 65536> begins = {};
};

uint64_t bits(const VlWide<4>& from, int low, int width) {
    uint64_t value = 0;
    for (int i = 0; i < width; ++i) {
        const int at = low + i;
        value |= uint64_t((from[at / 32] >> (at % 32)) & 1) << i;
    }
    return value;
}

void put(VlWide<4>& to, int low, int width, uint64_t value) {
    for (int i = 0; i < width; ++i) {
        const int at = low + i;
        const uint32_t mask = uint32_t(1) << (at % 32);
        to[at / 32] = (to[at / 32] & ~mask) | (((value >> i) & 1) ? mask : 0);
    }
}

class Bench {
public:
    explicit Bench(VerilatedContext* context)
        : context_(context), top_(std::make_unique<Vtop>(context)), host_(top_.get()) {
        Vtop* top = top_.get();
@PORTS@
        reset();
    }

    // Forgets what was offered and not taken, too.
    void reset() {
        for (auto& port : ports_) {
            port->events.clear();
            port->contexts.clear();
            port->verdicts.clear();
        }
        Vtop* top = top_.get();
        host_.idle();
        top->rst = 1;
        tick();
        tick();
        top->rst = 0;
        for (auto& port : ports_) port->verdicts.clear();
    }

    void tick() {
        Vtop* top = top_.get();
        for (auto& port : ports_) drive(*port);
        top->clk = 0;
        top->eval();
        dump(0);
        host_.before_edge();
        std::vector<std::array<bool, 2>> moved;
        for (auto& port : ports_) moved.push_back(sample(*port));
        top->clk = 1;
        top->eval();
        dump(5);
        host_.after_edge();
        for (size_t i = 0; i < ports_.size(); ++i) {
            if (moved[i][0]) ports_[i]->events.pop_front();
            if (moved[i][1]) ports_[i]->contexts.pop_front();
        }
        ++cycle_;
    }

    void write(uint64_t address, uint64_t value) { host_.write(*this, address, value); }
    void read(uint64_t address) { host_.read(*this, address); }

    void offer(size_t engine, const Event& event, const std::vector<uint64_t>& words) {
        Port& port = *ports_.at(engine);
        port.lengths[event.tag] = event.length;
        port.events.push_back(event);
        for (const uint64_t word : words) port.contexts.push_back(word);
    }

    void await_verdict(size_t engine) {
        Port& port = *ports_.at(engine);
        for (long i = 0; i < kPatience; ++i) {
            if (!port.verdicts.empty() && port.verdicts.front().missing == 0) {
                const Verdict& v = port.verdicts.front();
                std::printf("%llx %llx %llx %llx %llx %llx", (unsigned long long)v.r0,
                            (unsigned long long)v.cause, (unsigned long long)v.tag,
                            (unsigned long long)v.instructions, (unsigned long long)v.begin,
                            (unsigned long long)v.end);
                for (const uint64_t word : v.words) std::printf(" %llx", (unsigned long long)word);
                std::printf("\n");
                port.verdicts.pop_front();
                return;
            }
            tick();
        }
        std::printf("timeout\n");
    }

    uint64_t cycle() const { return cycle_; }
    size_t engines() const { return ports_.size(); }

    void begin_dump(const char* file) {
#if VM_TRACE
        end_dump();
        trace_ = std::make_unique<VerilatedVcdC>();
        top_->trace(trace_.get(), 99);
        trace_->open(file);
#else
        (void)file;
#endif
    }

    void end_dump() {
#if VM_TRACE
        if (trace_) trace_->close();
        trace_.reset();
#endif
    }

    ~Bench() {
        end_dump();
        top_->final();
    }

private:
    void drive(Port& port) {
        port.event_valid = !port.events.empty();
        if (port.event_valid) {
            const Event& event = port.events.front();
            put(port.event, 0, 16, event.length);
            put(port.event, 16, 16, event.tag);
            put(port.event, 32, 8, event.program);
            put(port.event, 40, 64, event.time_ns);
        }
        port.context_valid = !port.contexts.empty();
        if (port.context_valid) port.context = port.contexts.front();
        port.verdict_ready = 1;
        port.after_ready = 1;
    }

    // Which of events and contexts move in this cycle; takes what comes out.
    std::array<bool, 2> sample(Port& port) {
        const bool event = port.event_valid && port.event_ready;
        const bool context = port.context_valid && port.context_ready;
        if (event) port.begins[port.events.front().tag] = cycle_;
        if (port.verdict_valid) {
            Verdict verdict{};
            verdict.r0 = bits(port.verdict, 0, 64);
            verdict.cause = bits(port.verdict, 64, 4);
            verdict.tag = bits(port.verdict, 68, 16);
            verdict.instructions = bits(port.verdict, 84, 32);
            verdict.begin = port.begins[verdict.tag];
            verdict.end = cycle_;
            const uint64_t length = std::min<uint64_t>(port.lengths[verdict.tag], @CONTEXT_BYTES@);
            verdict.missing = (length + 7) / 8;
            port.verdicts.push_back(verdict);
        }
        if (port.after_valid && !port.verdicts.empty()) {
            Verdict& verdict = port.verdicts.back();
            verdict.words.push_back(port.after);
            if (verdict.missing) --verdict.missing;
        }
        return {event, context};
    }

    void dump(int part) {
#if VM_TRACE
        if (trace_) trace_->dump(cycle_ * 10 + part);
#else
        (void)part;
#endif
    }

    VerilatedContext* context_;
    std::unique_ptr<Vtop> top_;
    HostPort<Vtop> host_;
    std::vector<std::unique_ptr<Port>> ports_;
    uint64_t cycle_ = 0;
#if VM_TRACE
    std::unique_ptr<VerilatedVcdC> trace_;
#endif
};

bool obey(Bench& bench, const std::string& line) {
    const char command = line.empty() ? 'Q' : line[0];
    const std::string rest = line.size() > 2 ? line.substr(2) : "";
    if (command == 'D') {
        bench.begin_dump(rest.c_str());
        return true;
    }
    if (command == 'X') {
        bench.reset();
        return true;
    }
    if (command == 'd') {
        bench.end_dump();
        return true;
    }
    const auto n = numbers(rest.c_str());
    const bool has_engine = !n.empty() && n[0] < bench.engines();
    if (command == 'W' && n.size() == 2) {
        bench.write(n[0], n[1]);
    } else if (command == 'R' && n.size() == 1) {
        bench.read(n[0]);
    } else if (command == 'E' && n.size() >= 5 && has_engine) {
        bench.offer(n[0], {n[1], n[2] & 0xffff, n[3], n[4]}, {n.begin() + 5, n.end()});
    } else if (command == 'V' && n.size() == 1 && has_engine) {
        bench.await_verdict(n[0]);
    } else if (command == 'T' && n.size() == 1) {
        for (uint64_t i = 0; i < n[0]; ++i) bench.tick();
        std::printf("%llx\n", (unsigned long long)bench.cycle());
    } else if (command == 'Q') {
        return false;
    } else {
        std::printf("what is \"%s\"?\n", line.c_str());
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    const auto context = std::make_unique<VerilatedContext>();
    context->commandArgs(argc, argv);
#if VM_TRACE
    context->traceEverOn(true);
#endif
    Bench bench(context.get());
    Lines lines;
    std::string line;
    while (lines.next(line) && obey(bench, line)) {
    }
    std::fflush(stdout);
    return 0;
}
