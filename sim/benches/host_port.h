// An engine's AXI4-Lite port, and lines of standard input that say what to do with it. Text of this
// file stands in the programs around Verilated engines.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

constexpr long kPatience = 2000000;  // cycles; an event's own budget ends it much earlier

// One transfer at a time; `Clock::tick` calls `before_edge` and `after_edge` around the clock's edge.
template <typename Top>
class HostPort {
public:
    explicit HostPort(Top* top) : top_(top) { top_->s_axil_bready = top_->s_axil_rready = 1; }

    void idle() { top_->s_axil_awvalid = top_->s_axil_wvalid = top_->s_axil_arvalid = 0; }

    void before_edge() {
        aw_ = top_->s_axil_awvalid && top_->s_axil_awready;
        w_ = top_->s_axil_wvalid && top_->s_axil_wready;
        ar_ = top_->s_axil_arvalid && top_->s_axil_arready;
        if (top_->s_axil_bvalid && top_->s_axil_bready) {
            answered_ = true;
            response_ = top_->s_axil_bresp;
        }
        if (top_->s_axil_rvalid && top_->s_axil_rready) {
            answered_ = true;
            response_ = top_->s_axil_rresp;
            value_ = top_->s_axil_rdata;
        }
    }

    void after_edge() {
        if (aw_) top_->s_axil_awvalid = 0;
        if (w_) top_->s_axil_wvalid = 0;
        if (ar_) top_->s_axil_arvalid = 0;
    }

    // Both print the answer.
    template <typename Clock>
    void write(Clock& clock, uint64_t address, uint64_t value) {
        top_->s_axil_awaddr = address;
        top_->s_axil_awvalid = 1;
        top_->s_axil_wdata = value;
        top_->s_axil_wstrb = 0xf;
        top_->s_axil_wvalid = 1;
        if (wait(clock)) std::printf("%x\n", response_);
    }

    template <typename Clock>
    void read(Clock& clock, uint64_t address) {
        top_->s_axil_araddr = address;
        top_->s_axil_arvalid = 1;
        if (wait(clock)) std::printf("%x %x\n", response_, value_);
    }

private:
    template <typename Clock>
    bool wait(Clock& clock) {
        answered_ = false;
        for (long i = 0; i < kPatience && !answered_; ++i) clock.tick();
        if (!answered_) std::printf("timeout\n");
        return answered_;
    }

    Top* top_;
    bool aw_ = false, w_ = false, ar_ = false, answered_ = false;
    unsigned response_ = 0, value_ = 0;
};

// Lines of standard input; what was printed goes out before it waits for more.
class Lines {
public:
    bool next(std::string& line) {
        for (;;) {
            const size_t end = buffer_.find('\n', start_);
            if (end != std::string::npos) {
                line.assign(buffer_, start_, end - start_);
                start_ = end + 1;
                return true;
            }
            buffer_.erase(0, start_);
            start_ = 0;
            std::fflush(stdout);
            char chunk[65536];
            const ssize_t count = ::read(0, chunk, sizeof chunk);
            if (count <= 0) return false;
            buffer_.append(chunk, size_t(count));
        }
    }

private:
    std::string buffer_;
    size_t start_ = 0;
};

inline std::vector<uint64_t> numbers(const char* text) {
    std::vector<uint64_t> found;
    char* end = nullptr;
    for (;;) {
        const uint64_t number = std::strtoull(text, &end, 16);
        if (end == text) return found;
        found.push_back(number);
        text = end;
    }
}
