"""Small programs in C that use everything that an object file can have.

What the loader's fuzzer changes, and what its tests load.
"""

from types import MappingProxyType

__all__ = ["SAMPLES"]

_EVENT = """\
#include <fanweave/bpf.h>
#include <fanweave/cxl.h>

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, __u64);
    __type(value, __u64);
} pages SEC(".maps");

SEC("cxl")
__u64 hot_pages(struct cxl_event *event)
{
    __u64 page = event->address >> 12, one = 1;
    __u64 *count = bpf_map_lookup_elem(&pages, &page);

    if (!count)
        bpf_map_update_elem(&pages, &page, &one, BPF_ANY);
    else if (__sync_fetch_and_add(count, 1) == 41)
        return cxl_promote(3);
    return cxl_pass();
}

char LICENSE[] SEC("license") = "GPL";
"""

_MAPS = """\
#include <fanweave/bpf.h>

struct prefix { __u32 bits; __u8 data[4]; };
struct table {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 4);
    __type(key, __u32);
    __type(value, __u64);
};

struct table first SEC(".maps"), second SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 3);
    __type(key, __u32);
    __array(values, struct table);
} tables SEC(".maps") = { .values = { [0] = &first, [2] = &second } };

__u64 other(__u32 *context);
struct {
    __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
    __uint(max_entries, 8);
    __uint(key_size, 4);
    __uint(value_size, 4);
    __array(values, __u64(__u32 *));
} programs SEC(".maps") = { .values = { [5] = &other } };

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 16);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct prefix);
} hash SEC(".maps");
static struct {
    __uint(type, BPF_MAP_TYPE_QUEUE);
    __uint(max_entries, 4);
    __type(value, __u32);
} queue SEC(".maps");
static struct {
    __uint(type, BPF_MAP_TYPE_STACK);
    __uint(max_entries, 4);
    __uint(value_size, 4);
} stack SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_LPM_TRIE);
    __uint(max_entries, 8);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct prefix);
    __type(value, __u32);
} trie SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} ring SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 2);
    __type(key, __u32);
    __type(value, __u64);
} own SEC(".maps");
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 4);
    __type(key, __u64);
    __type(value, __u64);
} recent SEC(".maps");

SEC("event/tail")
__u64 tail(__u32 *context)
{
    bpf_tail_call(context, &programs, context[0]);
    return 1;
}

SEC("event/tail")
__u64 other(__u32 *context)
{
    return 77;
}

SEC("event/maps")
__u64 use(__u32 *context)
{
    __u32 number = context[0], one = 1, found = 0;
    __u64 wide = number, sum = 0, *value;
    struct prefix prefix = { .bits = 32, .data = { 10, 0, 0, 1 } };
    void *inner = bpf_map_lookup_elem(&tables, &number);

    if (inner && (value = bpf_map_lookup_elem(inner, &one))) {
        *value += 5;
        sum += *value;
    }
    if (bpf_map_update_elem(&hash, &number, &prefix, BPF_NOEXIST))
        sum += 1000;
    bpf_map_push_elem(&queue, &number, 0);
    bpf_map_push_elem(&stack, &number, 0);
    if (!bpf_map_peek_elem(&queue, &found))
        sum += 10 * found;
    if ((value = bpf_map_lookup_elem(&trie, &prefix)))
        sum += 100;
    if ((value = bpf_map_lookup_elem(&own, &one)))
        *value += 1;
    bpf_map_update_elem(&recent, &wide, &sum, BPF_ANY);
    bpf_ringbuf_output(&ring, &sum, sizeof(sum), 0);
    return sum;
}
"""

_VARIABLES = """\
#include <fanweave/bpf.h>

struct definition { __u32 type, key_size, value_size, max_entries, map_flags; };
struct definition SEC("maps") old = { BPF_MAP_TYPE_HASH, 4, 8, 32, 0 };
struct definition SEC("maps") older = { BPF_MAP_TYPE_ARRAY, 4, 4, 2, 0 };

const volatile __u32 limit = 7;
__u64 start = 5;
static __u64 total;
__u64 calls[4];
static const char text[] = "fanweave";
const volatile __u8 steps[5] SEC(".rodata.steps") = { 1, 2, 4, 8, 16 };

static __noinline __u64 twice(__u64 number)
{
    total += number;
    return 2 * number;
}

__noinline __u64 shared(__u64 number)
{
    __sync_fetch_and_add(&calls[number & 3], 1);
    return twice(number) + 1;
}

SEC("event")
__u64 first(__u8 *context)
{
    __u32 key = context[0];
    __u64 *value = bpf_map_lookup_elem(&old, &key);

    if (value)
        *value += text[key & 7];
    return shared(key) + limit + start + steps[key & 3];
}

SEC("event")
__u64 second(__u8 *context)
{
    return shared(context[1]) + first(context);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""

#: Sources by name.
SAMPLES = MappingProxyType({"event": _EVENT, "maps": _MAPS, "variables": _VARIABLES})
