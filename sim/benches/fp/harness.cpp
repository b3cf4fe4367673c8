// Feeds records of a file to a Verilated arithmetic pipeline, one a cycle, and compares results.
//
// Usage: harness FILE DELAY. The result of a record is due DELAY clock edges after it. Prints
// "vectors mismatches seconds", then the position and the result of the first mismatches.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "Vbench.h"
#include "verilated.h"

struct Record {
    uint32_t first, second, third, control, expected;
};

static constexpr size_t kShown = 5;

static bool read_records(const char* path, std::vector<Record>& records) {
    std::FILE* file = std::fopen(path, "rb");
    if (!file) return false;
    std::fseek(file, 0, SEEK_END);
    records.resize(std::ftell(file) / sizeof(Record));
    std::rewind(file);
    const size_t count = std::fread(records.data(), sizeof(Record), records.size(), file);
    std::fclose(file);
    return count == records.size();
}

int main(int argc, char** argv) {
    std::vector<Record> records;
    if (argc != 3 || !read_records(argv[1], records)) {
        std::fprintf(stderr, "usage: %s FILE DELAY\n", argv[0]);
        return 2;
    }
    const size_t delay = std::strtoul(argv[2], nullptr, 10);
    VerilatedContext context;
    const auto bench = std::make_unique<Vbench>(&context);
    std::vector<std::pair<size_t, uint32_t>> shown;
    size_t mismatches = 0;
    bench->rst = 0;
    bench->clk = 0;
    bench->eval();  // so that the first rise of the clock is one
    const auto start = std::chrono::steady_clock::now();
    for (size_t cycle = 0; cycle < records.size() + delay; ++cycle) {
        if (cycle >= delay) {
            const size_t position = cycle - delay;
            if (bench->result != records[position].expected) {
                if (mismatches++ < kShown) shown.emplace_back(position, bench->result);
            }
        }
        if (cycle < records.size()) {
            const Record& record = records[cycle];
            bench->first = record.first;
            bench->second = record.second;
            bench->third = record.third;
            bench->control = record.control;
        }
        bench->clk = 1;
        bench->eval();
        bench->clk = 0;
        bench->eval();
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    std::printf("%zu %zu %.6f\n", records.size(), mismatches, elapsed.count());
    for (const auto& [position, result] : shown) std::printf("%zu %u\n", position, result);
    bench->final();
    return 0;
}
