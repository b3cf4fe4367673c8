// Hosts and devices around a Verilated switch, alone or in an island: plays a plan, and logs all that
// the switch takes and gives. Lines of standard input say what to do:
//
//   P LIMIT SEED STALL DELAY_LOW DELAY_HIGH SILENT FAULTY FROM TO PROMOTE SINGLE MISSING
//                                play, once; answers "ENDING CYCLES"
//   W ADDRESS VALUE, R ADDRESS   the engine's registers, in an island; see host_port.h
//   Q                            end
//
// Numbers are hexadecimal. The file ``plan`` holds records: cycle (32 bits), kind, port, channel, 0 (8
// bits each), and words: of kind 0 a message, of kind 1 address and data of a write of a register. A
// host's request gets a tag here; everything else is sent as it stands. Messages of a port and
// channel leave in the order of the plan. Of kind 8, the port takes nothing and gives no credits until
// the cycle that follows. ``log`` holds the same records for what happened; kind 2 is what the switch
// gives, 3 an event, 4 a verdict, 5 what was decided of a request, 6 a step of a page's move, 7 a
// change of which ports are dead. In a cycle those from 3 on come first, then 1, 0 and 2.
//
// Devices have memory: a line that was not written holds what `initial` says. Of a switch alone,
// events are answered here: PROMOTE / 256 is the chance of a verdict to move the page to some
// device. With SINGLE a host has one request at most for a line on its way. MISSING / 256 is the
// chance that a device says of a read that no memory is there.
//
// STALL / 256 is the chance that a side waits for a cycle. Devices answer after DELAY_LOW to
// DELAY_HIGH cycles; those at a port in SILENT (a bit each) do not, those in FAULTY do twice at times.
// A model that can dumps the cycles FROM to TO into the file ``dump``.
// The run ends when all is sent and answered and the engine is quiet (ENDING is 0), after LIMIT cycles (1), when the switch
// makes a sender wait that has credits (2), or if a file fails (3).

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "Vtop.h"
#include "verilated.h"
#if VM_TRACE
#include "verilated_vcd_c.h"
#endif

@HOST_PORT@

namespace {

using Words = std::vector<uint32_t>;

@CONSTANTS@

// Cycles without an event or a verdict after which none is on its way.
constexpr uint32_t kQuiet = @QUIET@;

enum Kind : uint8_t { kTakes, kWrite, kGives, kEvent, kVerdict, kDecision, kMove, kDead, kFreeze };

struct Header {
    uint32_t cycle;
    uint8_t kind, port, channel, zero;
};

struct Planned {
    uint32_t cycle;
    Words words;
};

uint32_t get(const Words& words, Field field) {
    uint64_t value = words[field.low / 32];
    if (field.low / 32 + 1 < int(words.size())) value |= uint64_t(words[field.low / 32 + 1]) << 32;
    return uint32_t(value >> (field.low % 32) & ((uint64_t(1) << field.width) - 1));
}

Words cut(const Words& words, Field field) {
    Words found;
    for (int at = 0; at < field.width; at += 32)
        found.push_back(get(words, {field.low + at, std::min(32, field.width - at)}));
    return found;
}

void put(Words& words, Field field, uint32_t value) {
    for (int i = 0; i < field.width; ++i) {
        const int at = field.low + i;
        const uint32_t mask = uint32_t(1) << (at % 32);
        words[at / 32] = (words[at / 32] & ~mask) | ((value >> i & 1) ? mask : 0);
    }
}

// What a line holds that nobody wrote: differs by device, line and word.
uint32_t initial(uint32_t port, uint32_t ld_id, uint64_t line, uint32_t word) {
    uint32_t x = (uint32_t(line) * 16 + word) * 0x9E3779B1u ^ (port * 16 + ld_id) * 0x85EBCA6Bu;
    x ^= x >> 15;
    x *= 0x2C1B3CE5u;
    return x ^ x >> 12;
}

// A line of a device's memory.
struct Line {
    uint32_t data[kLineWords];
    uint32_t poison, meta_field, meta_value;
};

// The bits of a port that is not for messages, by words.
template <typename T>
Words bits_of(const T& port) {
    return {uint32_t(port), uint32_t(uint64_t(port) >> 32)};
}

template <std::size_t N>
Words bits_of(const VlWide<N>& port) {
    return Words(port.data(), port.data() + N);
}

template <typename T>
uint32_t* words_of(T& port) {
    return reinterpret_cast<uint32_t*>(&port);
}

template <std::size_t N>
uint32_t* words_of(VlWide<N>& port) {
    return port.data();
}

class Random {
   public:
    explicit Random(uint32_t seed) : state_(seed * 2654435761u | 1) {}
    uint32_t next() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return state_;
    }
    bool chance(uint32_t of_256) { return (next() >> 24) < of_256; }
    uint32_t range(uint32_t low, uint32_t high) { return low + next() % (high - low + 1); }

   private:
    uint32_t state_;
};

// A channel of a port; ready and credit are the receiver's.
struct Link {
    CData &valid, &ready, &credit;
    uint32_t* payload;
    int port, channel;
    bool inward;  // into the switch
    std::deque<Planned> queue = {};
    int credits = 0;  // inward: that we have; outward: that we owe
    bool held = false;
};

class Surroundings {
   public:
    Surroundings(Vtop* top, FILE* log, const std::vector<uint64_t>& settings)
        : top_(top),
          log_(log),
          random_(settings[1]),
          stall_(settings[2]),
          delay_low_(settings[3]),
          delay_high_(settings[4]),
          silent_(settings[5]),
          faulty_(settings[6]),
          promote_(settings[9]),
          single_(settings[10]),
          missing_(settings[11]) {
@LINKS@
        for (Link& link : links_) by_place_[link.port * kChannels + link.channel] = &link;
        for (int host = 0; host < kHosts; ++host)
            for (uint32_t tag = 0; tag < kTags; ++tag) free_[host].push_back(tag);
    }

    bool load(const char* name) {
        FILE* file = std::fopen(name, "rb");
        if (!file) return false;
        Header header;
        while (std::fread(&header, sizeof header, 1, file) == 1) {
            const bool write = header.kind == kWrite, freeze = header.kind == kFreeze;
            Planned planned{header.cycle, Words(write ? 2 : freeze ? 1 : kWords[header.channel])};
            if (std::fread(planned.words.data(), 4, planned.words.size(), file) !=
                planned.words.size())
                return false;
            if (freeze)
                freezes_[header.port].push_back(planned);
            else
                (write ? writes_ : find(header.port, header.channel).queue).push_back(planned);
        }
        std::fclose(file);
        return true;
    }

    bool done() const {
        if (!writes_.empty() || !due_.empty() || !verdicts_.empty() || open_) return false;
        if (last_event_ + kQuiet > cycle_ || last_move_ + kQuiet > cycle_) return false;
        for (const Link& link : links_)
            if (link.inward && !link.queue.empty()) return false;
        return true;
    }

    // Inputs of a cycle.
    void drive(uint32_t cycle) {
        cycle_ = cycle;
        for (auto end = due_.upper_bound(cycle); due_.begin() != end;) {
            auto& [link, words] = due_.begin()->second;
            link->queue.push_back({cycle, words});
            due_.erase(due_.begin());
        }
        top_->commands___05Fvalid = !writes_.empty() && writes_.front().cycle <= cycle;
        if (top_->commands___05Fvalid) {
            auto& command = top_->commands___05Fpayload;
            command = QData(writes_.front().words[1]) << kCommandData | writes_.front().words[0];
        }
        for (auto& [port, freezes] : freezes_)
            while (!freezes.empty() && freezes.front().words[0] <= cycle) freezes.pop_front();
        judge();
        for (Link& link : links_) link.inward ? offer(link) : accept(link);
    }

    // What the clock's edge transfers: first what the switch takes, then what it gives.
    bool take() {
        observe();
        if (top_->commands___05Fvalid && top_->commands___05Fready) {
            record(kWrite, 0, 0, writes_.front().words.data(), 2);
            writes_.pop_front();
        }
        for (Link& link : links_) {
            if (!link.inward) continue;
            if (link.valid) {
                if (!link.ready) return false;  // a sender that keeps to its credits never waits
                const Words& words = link.queue.front().words;
                record(kTakes, link.port, link.channel, words.data(), kWords[link.channel]);
                if (link.channel == kBisnp) {
                    snooped_[{link.port, get(words, kBiTag[kBisnp])}] = lines_of(words);
                    ++open_;
                }
                link.queue.pop_front();
                link.held = false;
                --link.credits;
            }
            link.credits += link.credit;
        }
        for (Link& link : links_) {
            if (link.inward || !link.valid || !link.ready) continue;
            record(kGives, link.port, link.channel, link.payload, kWords[link.channel]);
            ++link.credits;
            came(link, Words(link.payload, link.payload + kWords[link.channel]));
        }
        // A link that is off starts with all credits.
        for (Link& link : links_)
            if (!link.inward && dead_ >> link.port & 1) link.credits = 0;
        return true;
    }

   private:
    Link& find(int port, int channel) { return *by_place_.at(port * kChannels + channel); }

    void offer(Link& link) {
        bool go = !link.queue.empty() && link.credits > 0 && link.queue.front().cycle <= cycle_ &&
                  (link.held || !random_.chance(stall_));
        if (go && !link.held) {
            if (link.port < kHosts && link.channel != kBirsp) go = begin_request(link);
            const Words& words = link.queue.front().words;
            if (go) std::memcpy(link.payload, words.data(), 4 * words.size());
        }
        link.valid = link.held = go;
    }

    void accept(Link& link) {
        const auto freezes = freezes_.find(link.port);
        const bool frozen = freezes != freezes_.end() && !freezes->second.empty() &&
                            freezes->second.front().cycle <= cycle_;
        link.ready = !frozen && !random_.chance(stall_);
        link.credit = !frozen && link.credits > 0 && !random_.chance(stall_);
        link.credits -= link.credit;
    }

    bool begin_request(Link& link) {
        auto& free = free_[link.port];
        if (free.empty()) return false;
        Words& words = link.queue.front().words;
        const uint32_t answers =
            kAnswers[link.channel][get(words, kOpcode[link.channel])][get(words, kSnoop[link.channel])];
        if (single_ && answers) {
            if (!busy_[link.port].insert(line_of(link.channel, words)).second) return false;
            lines_[link.port][free.front()] = line_of(link.channel, words);
        }
        put(words, kTag[link.channel], free.front());
        waits_[link.port][free.front()] = answers;
        if (answers) {
            ++open_;
            free.pop_front();
        } else {
            free.push_back(free.front());
            free.pop_front();
        }
        return true;
    }

    void came(Link& link, const Words& words) {
        if (link.channel == kReq || link.channel == kRwd) {
            at_device(link, words);
        } else if (link.channel == kBirsp) {
            at_snooper(link, words);
        } else if (link.channel == kBisnp) {
            at_snooped(link, words);
        } else {
            const uint32_t tag = get(words, kTag[link.channel]);
            uint32_t& waits = waits_[link.port][tag];
            waits &= ~(1u << link.channel);
            if (!waits) {
                --open_;
                free_[link.port].push_back(tag);
                if (single_) busy_[link.port].erase(lines_[link.port][tag]);
            }
        }
    }

    void later(Link& link, uint32_t cycle, Words words) {
        due_.emplace(cycle, std::make_pair(&link, std::move(words)));
    }

    void at_device(Link& link, const Words& request) {
        Line& line = line_at(link, request);
        if (link.channel == kRwd) write_line(line, request);
        if (silent_ >> link.port & 1) return;
        const uint32_t due = cycle_ + random_.range(delay_low_, delay_high_);
        const uint32_t answers = kAnswers[link.channel][get(request, kOpcode[link.channel])]
                                         [get(request, kSnoop[link.channel])];
        for (int channel : {kNdr, kDrs}) {
            if (!(answers >> channel & 1)) continue;
            Words answer(kWords[channel]);
            put(answer, kTag[channel], get(request, kTag[link.channel]));
            put(answer, kLdId[channel], get(request, kLdId[link.channel]));
            const uint32_t chosen = random_.next();
            put(answer, kDevLoad[channel], chosen & 3);
            if (channel == kNdr) {
                put(answer, kOpcode[channel], completion(link.channel, request, chosen >> 8));
            } else {
                const bool missing = missing_ && random_.chance(missing_);
                put(answer, kOpcode[channel], missing ? kNoMemory : kMemory);
                for (uint32_t word = 0; word < kLineWords; ++word)
                    put(answer, {kData.low + 32 * int(word), 32}, missing ? ~0u : line.data[word]);
                put(answer, kPoison, line.poison);
                put(answer, kMetaField[kDrs], line.meta_field);
                put(answer, kMetaValue[kDrs], line.meta_value);
            }
            later(find(link.port, channel), due, answer);
            if ((faulty_ >> link.port & 1) && random_.chance(77))
                later(find(link.port, channel), due + random_.range(1, 150), answer);
        }
    }

    // What a device says without data: a request that may ask for a line's state gets some state.
    static uint32_t completion(int channel, const Words& request, uint32_t chosen) {
        if (channel == kReq) return kCompletions[chosen % std::size(kCompletions)];
        return get(request, kOpcode[channel]) == kConflict ? kConflictAck : kCompletions[0];
    }

    static uint64_t line_of(int channel, const Words& request) {
        const Field low{kAddress[channel].low, 32}, high{low.low + 32, kAddress[channel].width - 32};
        return get(request, low) | uint64_t(get(request, high)) << 32;
    }

    Line& line_at(const Link& link, const Words& request) {
        const uint32_t ld_id = get(request, kLdId[link.channel]);
        const uint64_t number = line_of(link.channel, request);
        const auto [at, fresh] = memory_.try_emplace({link.port * 16 + ld_id, number});
        for (uint32_t word = 0; fresh && word < kLineWords; ++word)
            at->second.data[word] = initial(link.port, ld_id, number, word);
        return at->second;
    }

    static void write_line(Line& line, const Words& request) {
        const uint32_t opcode = get(request, kOpcode[kRwd]);
        if (opcode != kWritesAll && opcode != kWritesPart) return;
        for (uint32_t byte = 0; byte < 4 * kLineWords; ++byte) {
            if (opcode == kWritesPart && !get(request, {kMask.low + int(byte), 1})) continue;
            const uint32_t mask = 0xFFu << 8 * (byte % 4);
            const uint32_t word = get(request, {kWritten.low + 32 * int(byte / 4), 32});
            line.data[byte / 4] = (line.data[byte / 4] & ~mask) | (word & mask);
        }
        line.poison = get(request, kWritePoison);
        line.meta_field = get(request, kMetaField[kRwd]);
        line.meta_value = get(request, kMetaValue[kRwd]);
    }

    // A host gives up all lines, or keeps them in some state, at once or one by one.
    void at_snooped(Link& link, const Words& snoop) {
        const uint32_t lines = lines_of(snoop);
        const bool block = kBlocks >> get(snoop, kOpcode[kBisnp]) & 1;
        const bool at_once = block && random_.chance(128);
        for (int line = 0; line < 4; ++line) {
            if (!(lines >> line & 1)) continue;
            Words answer(kWords[kBirsp]);
            const uint32_t state = random_.range(0, std::size(kGivesLine) - 1);
            put(answer, kOpcode[kBirsp], at_once ? kGivesBlock[state] : kGivesLine[state]);
            put(answer, kBiId[kBirsp], get(snoop, kBiId[kBisnp]));
            put(answer, kBiTag[kBirsp], get(snoop, kBiTag[kBisnp]));
            put(answer, kLowAddress, at_once ? 0 : line);
            later(find(link.port, kBirsp), cycle_ + random_.range(1, 20), answer);
            if (at_once) return;
        }
    }

    void at_snooper(const Link& link, const Words& answer) {
        const bool block = kBlockAnswers >> get(answer, kOpcode[kBirsp]) & 1;
        const auto found = snooped_.find({link.port, get(answer, kBiTag[kBirsp])});
        if (found == snooped_.end()) return;
        found->second &= block ? 0 : ~(1u << get(answer, kLowAddress));
        if (found->second) return;
        snooped_.erase(found);
        --open_;
    }

    static uint32_t lines_of(const Words& snoop) {
        const uint32_t low = get(snoop, {kSnoopAddress.low, 2});
        return kBlocks >> get(snoop, kOpcode[kBisnp]) & 1 ? kLines[low] : 1u << low;
    }

    // A verdict of a cycle, for a switch without its engine.
    void judge() {
#if !@ENGINE@
        top_->events___05Fready = !random_.chance(stall_);
        top_->verdicts___05Fvalid = !verdicts_.empty() && verdicts_.begin()->first <= cycle_;
        if (!top_->verdicts___05Fvalid) return;
        const Words& words = verdicts_.begin()->second;
        std::memcpy(words_of(top_->verdicts___05Fpayload), words.data(), 4 * words.size());
#endif
    }

    // What the engine was asked and said, and what became of requests by it.
    void observe() {
#if @ENGINE@
        const Words all = bits_of(top_->observed);
        for (const auto& [kind, valid, payload] :
             {std::tuple{kEvent, kEventValid, kEventPayload},
              std::tuple{kVerdict, kVerdictValid, kVerdictPayload}})
            if (get(all, valid)) {
                last_event_ = cycle_;
                const Words words = cut(all, payload);
                record(kind, 0, 0, words.data(), words.size());
            }
        decided(get(all, kDecisions), cut(all, kMoving), get(all, kDeadPorts));
#else
        if (top_->events___05Fvalid && top_->events___05Fready) {
            const Words words = cut(bits_of(top_->events___05Fpayload), kEventPayload);
            record(kEvent, 0, 0, words.data(), words.size());
            Words verdict(kVerdictWords);
            put(verdict, kVerdictTag, get(words, kEventTag));
            if (random_.chance(promote_))
                put(verdict, {0, 32}, kPromote | random_.range(kHosts, kPorts - 1) << 8);
            verdicts_.emplace(cycle_ + random_.range(1, 40), verdict);
        }
        if (top_->verdicts___05Fvalid) {
            const Words& words = verdicts_.begin()->second;
            record(kVerdict, 0, 0, words.data(), words.size());
            verdicts_.erase(verdicts_.begin());
        }
        decided(top_->decisions, bits_of(top_->moving), top_->dead);
#endif
    }

    void decided(uint32_t decisions, const Words& moving, uint32_t dead) {
        if (dead != dead_) record(kDead, 0, 0, &dead, 1);
        dead_ = dead;
        for (int place = 0; place < 2 * int(kHosts); ++place) {
            const uint32_t decided = decisions >> 2 * place & 3, judged = decided >> 1;
            if (decided & 1) record(kDecision, place / 2, place % 2 ? kRwd : kReq, &judged, 1);
        }
        const uint32_t step = get(moving, kMovingStep);
        if (!step) return;
        last_move_ = cycle_;
        const uint64_t page = get(moving, {kMovingPage.low, 32}) |
                              uint64_t(get(moving, {kMovingPage.low + 32, kMovingPage.width - 32})) << 32;
        const uint32_t words[] = {
            step | get(moving, kMovingHost) << 8 | get(moving, kMovingEntry) << 16 |
                get(moving, kMovingGroup) << 24,
            get(moving, kMovingPort) | get(moving, kMovingLdId) << 8, uint32_t(page),
            uint32_t(page >> 32)};
        record(kMove, 0, 0, words, 4);
    }

    void record(Kind kind, int port, int channel, const uint32_t* words, int count) {
        const Header header{cycle_, kind, uint8_t(port), uint8_t(channel), 0};
        std::fwrite(&header, sizeof header, 1, log_);
        std::fwrite(words, 4, count, log_);
    }

    Vtop* top_;
    FILE* log_;
    Random random_;
    uint32_t stall_, delay_low_, delay_high_, silent_, faulty_, promote_, single_, missing_;
    uint32_t cycle_ = 0;
    std::vector<Link> links_;
    std::map<int, Link*> by_place_;
    std::deque<Planned> writes_;
    std::map<int, std::deque<Planned>> freezes_;            // by port
    std::multimap<uint32_t, Words> verdicts_;               // by cycle
    std::map<std::pair<int, uint64_t>, Line> memory_;       // by logical device, and line
    std::set<uint64_t> busy_[kHosts];                       // lines with a request on its way
    std::map<uint32_t, uint64_t> lines_[kHosts];            // by tag
    std::multimap<uint32_t, std::pair<Link*, Words>> due_;
    std::deque<uint32_t> free_[kHosts];
    std::map<uint32_t, uint32_t> waits_[kHosts];          // channels, by tag
    std::map<std::pair<int, uint32_t>, uint32_t> snooped_;  // lines, by port and tag
    long open_ = 0;
    uint32_t last_event_ = 0, last_move_ = 0, dead_ = 0;
};

class Bench {
   public:
    explicit Bench(VerilatedContext* context) : top_(std::make_unique<Vtop>(context)) {
        top_->rst = 1;
        for (int i = 0; i < 2; ++i) half(0), half(1);
        top_->rst = 0;
    }

    ~Bench() { top_->final(); }

    void tick() {
        half(0);
#if @ENGINE@
        host_.before_edge();
#endif
        half(1);
#if @ENGINE@
        host_.after_edge();
#endif
    }

    void play(const std::vector<uint64_t>& settings) {
        FILE* file = std::fopen("log", "wb");
        if (!file) return answer(3, 0);
        Surroundings around(top_.get(), file, settings);
        uint32_t cycle = 0;
        int ending = around.load("plan") ? 1 : 3;
        for (; ending == 1 && cycle < settings[0]; ++cycle) {
            if (cycle == settings[7]) begin_dump();
            if (cycle == settings[8]) end_dump();
            around.drive(cycle);
            half(0);
            dump(cycle, 0);
            if (!around.take()) ending = 2;
            half(1);
            dump(cycle, 5);
            if (around.done()) ending = 0;
        }
        end_dump();
        answer(std::fclose(file) == 0 ? ending : 3, cycle);
    }

    bool obey(const std::string& line) {
        if (line.empty()) return false;
        const std::string rest = line.size() > 2 ? line.substr(2) : "";
        const auto n = numbers(rest.c_str());
        if (line[0] == 'P' && n.size() == 12) {
            play(n);
#if @ENGINE@
        } else if (line[0] == 'W' && n.size() == 2) {
            host_.write(*this, n[0], n[1]);
        } else if (line[0] == 'R' && n.size() == 1) {
            host_.read(*this, n[0]);
#endif
        } else if (line[0] == 'Q') {
            return false;
        } else {
            std::printf("what is \"%s\"?\n", line.c_str());
        }
        return true;
    }

   private:
    void half(int clk) {
        top_->clk = clk;
        top_->eval();
    }

#if VM_TRACE
    void begin_dump() {
        trace_ = std::make_unique<VerilatedVcdC>();
        top_->trace(trace_.get(), 99);
        trace_->open("dump");
    }
    void end_dump() {
        if (trace_) trace_->close();
        trace_.reset();
    }
    void dump(uint64_t cycle, int part) {
        if (trace_) trace_->dump(10 * cycle + part);
    }
    std::unique_ptr<VerilatedVcdC> trace_;
#else
    void begin_dump() {}
    void end_dump() {}
    void dump(uint64_t, int) {}
#endif

    static void answer(int ending, uint32_t cycles) { std::printf("%x %x\n", ending, cycles); }

    std::unique_ptr<Vtop> top_;
#if @ENGINE@
    HostPort<Vtop> host_{top_.get()};
#endif
};

}  // namespace

int main() {
    const auto context = std::make_unique<VerilatedContext>();
#if VM_TRACE
    context->traceEverOn(true);
#endif
    Bench bench(context.get());
    Lines lines;
    std::string line;
    while (lines.next(line) && bench.obey(line)) {
    }
    std::fflush(stdout);
    return 0;
}
