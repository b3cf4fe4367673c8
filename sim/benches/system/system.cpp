// Islands among hosts and memories: sends each message in its cycle, and says when it was answered.
// Lines of standard input say what to do:
//
//   I N                          the island that the engine's registers are of from now on
//   W ADDRESS VALUE, R ADDRESS   its engine's registers; see host_port.h
//   P LIMIT REST                 play, once; answers "ENDING CYCLES"
//   C ADDRESS                    a register of the island's switch
//   Q                            end
//
// Numbers are hexadecimal. The file ``plan`` holds 32-bit words: counts of hosts, memories, links,
// writes and messages, then a row of each: island, port | island, port, latency, read, write, turn,
// three loads | island, port, other island, its port, latency | island, cycle, address, data |
// cycle, host, kind (1 writes), tag, line low, line high. ``done`` gets the cycle of each message's
// answer, ``told`` rows of what switches were told: island, cycle, r0 low, r0 high, failed.
// The run ends REST cycles after the last answer (ENDING is 0), after LIMIT cycles (1), when a
// switch makes a sender wait that has credits (2), if a file fails (3), if a message cannot be sent
// in its cycle (4), or if an answer is nobody's (5).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

@HOST_PORT@

namespace {

struct Field {
    int low, width;
};

@CONSTANTS@

template <typename T>
uint32_t* words_of(T& port) {
    return reinterpret_cast<uint32_t*>(&port);
}

template <std::size_t N>
uint32_t* words_of(VlWide<N>& port) {
    return port.data();
}

uint32_t get(const uint32_t* words, Field field) {
    uint64_t value = words[field.low / 32];
    if (field.low % 32 + field.width > 32) value |= uint64_t(words[field.low / 32 + 1]) << 32;
    return uint32_t(value >> (field.low % 32) & ((uint64_t(1) << field.width) - 1));
}

void put(uint32_t* words, Field field, uint64_t value) {
    for (int i = 0; i < field.width; ++i) {
        const int at = field.low + i;
        const uint32_t mask = uint32_t(1) << (at % 32);
        words[at / 32] = (words[at / 32] & ~mask) | ((value >> i & 1) ? mask : 0);
    }
}

// Ends of a channel of a port.
struct Wire {
    CData *valid = nullptr, *ready = nullptr, *credit = nullptr;
    uint32_t* payload = nullptr;
    int credits = kCredits;  // into the switch: that we have
    bool owed = false;       // out of it: that we give back in the next cycle
};

struct Memory {
    uint32_t latency, read, write, turn, loads[3];
    uint64_t free = 0;
    int last = 0;
    bool used = false;
};

struct Crossing {
    int to_island, to_port;
    uint32_t latency;
};

// A message outside of the switches: all that its next transfer needs.
struct Parcel {
    uint32_t cycle, tag, ld_id, load, opcode;
    uint64_t line;
};

struct Message {
    uint32_t cycle, host, kind, tag;
    uint64_t line;
};

struct Island {
    std::unique_ptr<Vtop> top;
    std::unique_ptr<HostPort<Vtop>> host;
    Wire wires[kPorts][kChannels];
    std::deque<Parcel> queues[kPorts][kChannels];  // on their way into the switch
    std::map<int, Memory> memories;
    std::map<int, Crossing> crossings;
    std::map<int, std::pair<int, int>> above;  // host's port: island and port that send to it
    std::map<int, int> hosts;                  // host's port: number of the host
    std::deque<std::vector<uint32_t>> writes;

    void half(int clk) {
        top->clk = clk;
        top->eval();
    }
    void tick() {
        half(0);
        host->before_edge();
        half(1);
        host->after_edge();
    }
};

class Bench {
   public:
    explicit Bench(VerilatedContext* context) {
        for (Island& island : islands_) {
            island.top = std::make_unique<Vtop>(context);
            island.host = std::make_unique<HostPort<Vtop>>(island.top.get());
            island.top->rst = 1;
            for (int i = 0; i < 2; ++i) island.half(0), island.half(1);
            island.top->rst = 0;
            connect(island);
        }
    }
    ~Bench() {
        for (Island& island : islands_) island.top->final();
    }

    bool obey(const std::string& line) {
        if (line.empty()) return false;
        const auto n = numbers(line.size() > 2 ? line.c_str() + 2 : "");
        Island& chosen = islands_[chosen_];
        if (line[0] == 'I' && n.size() == 1 && n[0] < kIslands) {
            chosen_ = int(n[0]);
        } else if (line[0] == 'P' && n.size() == 2) {
            const int ending = load() ? play(n[0], n[1]) : 3;
            std::printf("%x %x\n", ending, now_);
        } else if (line[0] == 'W' && n.size() == 2) {
            chosen.host->write(chosen, n[0], n[1]);
        } else if (line[0] == 'R' && n.size() == 1) {
            chosen.host->read(chosen, n[0]);
        } else if (line[0] == 'C' && n.size() == 1) {
            chosen.top->read_address = n[0];
            chosen.half(0);
            std::printf("%x\n", uint32_t(chosen.top->read_data));
        } else {
            if (line[0] != 'Q') std::printf("what is \"%s\"?\n", line.c_str());
            return line[0] != 'Q';
        }
        return true;
    }

   private:
    void connect(Island& island) {
        Vtop* top = island.top.get();
@WIRES@
    }

    bool load() {
        FILE* file = std::fopen("plan", "rb");
        if (!file) return false;
        std::vector<uint32_t> all;
        uint32_t chunk[4096];
        while (size_t count = std::fread(chunk, 4, 4096, file))
            all.insert(all.end(), chunk, chunk + count);
        std::fclose(file);
        const uint32_t* at = all.data() + 5;
        for (uint32_t n = 0; n < all[0]; ++n, at += 2) islands_[at[0]].hosts[at[1]] = n;
        for (uint32_t n = 0; n < all[1]; ++n, at += 9)
            islands_[at[0]].memories[at[1]] = {at[2], at[3], at[4], at[5], {at[6], at[7], at[8]}};
        for (uint32_t n = 0; n < all[2]; ++n, at += 5) {
            islands_[at[0]].crossings[at[1]] = {int(at[2]), int(at[3]), at[4]};
            islands_[at[2]].above[at[3]] = {int(at[0]), int(at[1])};
        }
        for (uint32_t n = 0; n < all[3]; ++n, at += 4)
            islands_[at[0]].writes.push_back({at[1], at[2], at[3]});
        open_.resize(all[0]);
        for (uint32_t n = 0; n < all[4]; ++n, at += 6)
            messages_.push_back({at[0], at[1], at[2], at[3], at[4] | uint64_t(at[5]) << 32});
        return size_t(at - all.data()) == all.size();
    }

    int play(uint64_t limit, uint64_t rest) {
        done_.assign(messages_.size(), 0);
        uint64_t last = 0;
        int ending = 1;
        for (; ending == 1 && now_ < limit; ++now_) {
            if (!drive()) return 4;
            for (Island& island : islands_) island.half(0);
            for (int n = 0; n < kIslands; ++n)
                if (const int bad = take(n)) return bad;
            for (Island& island : islands_) island.half(1);
            if (left_ < messages_.size()) last = now_;
            if (left_ == messages_.size() && now_ >= last + rest) ending = 0;
        }
        return store("done", done_) && store("told", told_) ? ending : 3;
    }

    static bool store(const char* name, const std::vector<uint32_t>& words) {
        FILE* file = std::fopen(name, "wb");
        if (!file) return false;
        const bool all = std::fwrite(words.data(), 4, words.size(), file) == words.size();
        return std::fclose(file) == 0 && all;
    }

    // Inputs of a cycle.
    bool drive() {
        for (Island& island : islands_) {
            Vtop* top = island.top.get();
            top->commands___05Fvalid = !island.writes.empty() && island.writes.front()[0] <= now_;
            if (top->commands___05Fvalid)
                top->commands___05Fpayload =
                    QData(island.writes.front()[2]) << kCommandData | island.writes.front()[1];
            for (int port = 0; port < kPorts; ++port)
                for (int channel = 0; channel < kChannels; ++channel)
                    drive_wire(island, port, channel);
        }
        for (; next_ < messages_.size() && messages_[next_].cycle <= now_; ++next_)
            if (!send(messages_[next_], uint32_t(next_))) return false;
        return true;
    }

    void drive_wire(Island& island, int port, int channel) {
        Wire& wire = island.wires[port][channel];
        if (!kInward[port < kHosts][channel]) {
            *wire.ready = 1;
            *wire.credit = wire.owed;
            wire.owed = false;
            return;
        }
        auto& queue = island.queues[port][channel];
        *wire.valid = !queue.empty() && queue.front().cycle <= now_ && wire.credits > 0;
        if (!*wire.valid) return;
        const Parcel& parcel = queue.front();
        std::memset(wire.payload, 0, 4 * kWords[channel]);
        put(wire.payload, kTag[channel], parcel.tag);
        put(wire.payload, kLdId[channel], parcel.ld_id);
        put(wire.payload, kDevLoad[channel], parcel.load);
        put(wire.payload, kAddress[channel], parcel.line);
        put(wire.payload, kOpcode[channel], parcel.opcode);
        queue.pop_front();
    }

    bool send(const Message& message, uint32_t number) {
        for (Island& island : islands_)
            for (auto [port, host] : island.hosts) {
                if (uint32_t(host) != message.host) continue;
                const int channel = message.kind ? kRwd : kReq;
                island.queues[port][channel].push_back(
                    {now_, message.tag, 0, 0, kOpcodes[channel], message.line});
                open_[host][message.tag] = number;
                drive_wire(island, port, channel);
                return *island.wires[port][channel].valid && message.cycle == now_;
            }
        return false;
    }

    // What the clock's edge transfers.
    int take(int number) {
        Island& island = islands_[number];
        Vtop* top = island.top.get();
        if (top->commands___05Fvalid && top->commands___05Fready) island.writes.pop_front();
        for (int port = 0; port < kPorts; ++port)
            for (int channel = 0; channel < kChannels; ++channel) {
                Wire& wire = island.wires[port][channel];
                if (kInward[port < kHosts][channel]) {
                    if (*wire.valid && !*wire.ready) return 2;
                    wire.credits += *wire.credit - *wire.valid;
                } else if (*wire.valid) {
                    wire.owed = true;
                    if (!came(number, port, channel, wire.payload)) return 5;
                }
            }
        const uint32_t* seen = words_of(top->observed);
        if (get(seen, kVerdictValid))
            told_.insert(told_.end(),
                         {uint32_t(number), now_, get(seen, {kR0.low, 32}),
                          get(seen, {kR0.low + 32, 32}), get(seen, kFailed)});
        return 0;
    }

    bool came(int number, int port, int channel, const uint32_t* words) {
        Island& island = islands_[number];
        Parcel parcel{now_, get(words, kTag[channel]), get(words, kLdId[channel]),
                      get(words, kDevLoad[channel]), get(words, kOpcode[channel]), 0};
        if (channel == kReq || channel == kRwd) {
            const Field line = kAddress[channel];
            parcel.line = get(words, {line.low, 32});
            parcel.line |= uint64_t(get(words, {line.low + 32, line.width - 32})) << 32;
            if (island.memories.count(port)) return serve(island, port, channel == kRwd, parcel);
            if (!island.crossings.count(port)) return false;
            const Crossing& way = island.crossings[port];
            parcel.cycle += way.latency;
            islands_[way.to_island].queues[way.to_port][channel].push_back(parcel);
            return true;
        }
        if (channel != kNdr && channel != kDrs) return false;
        if (island.hosts.count(port)) {
            auto& open = open_[island.hosts[port]];
            const auto found = open.find(parcel.tag);
            if (found == open.end()) return false;
            done_[found->second] = now_;
            open.erase(found);
            ++left_;
            return true;
        }
        if (!island.above.count(port)) return false;
        const auto [above, up] = island.above[port];
        parcel.cycle += islands_[above].crossings[up].latency;
        islands_[above].queues[up][channel].push_back(parcel);
        return true;
    }

    bool serve(Island& island, int port, bool writes, Parcel parcel) {
        Memory& memory = island.memories[port];
        uint64_t start = std::max<uint64_t>(now_ + 1, memory.free);
        if (memory.used && memory.last != int(writes)) start += memory.turn;
        const uint64_t waited = start - (now_ + 1);
        parcel.load = 0;
        for (int n = 0; n < 3; ++n)
            if (waited >= memory.loads[n]) parcel.load = n + 1;
        memory.free = start + (writes ? memory.write : memory.read);
        memory.last = writes;
        memory.used = true;
        parcel.cycle = uint32_t(start + memory.latency);
        parcel.line = 0;
        const int channel = writes ? kNdr : kDrs;
        parcel.opcode = kOpcodes[channel];
        island.queues[port][channel].push_back(parcel);
        return true;
    }

    Island islands_[kIslands];
    std::vector<Message> messages_;
    std::vector<std::map<uint32_t, uint32_t>> open_;  // messages by tag
    std::vector<uint32_t> done_, told_;
    size_t next_ = 0, left_ = 0;
    uint32_t now_ = 0;
    int chosen_ = 0;
};

}  // namespace

int main() {
    const auto context = std::make_unique<VerilatedContext>();
    Bench bench(context.get());
    Lines lines;
    std::string line;
    while (lines.next(line) && bench.obey(line)) {
    }
    std::fflush(stdout);
    return 0;
}
