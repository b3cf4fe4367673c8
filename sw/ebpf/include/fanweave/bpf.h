/* What eBPF programs in C need: types, sections, definitions of maps, helpers.
 *
 * A program is a function in a section of its own:
 *
 *     #include <fanweave/bpf.h>
 *     #include <fanweave/cxl.h>
 *
 *     struct {
 *         __uint(type, BPF_MAP_TYPE_LRU_HASH);
 *         __uint(max_entries, 1024);
 *         __type(key, __u64);
 *         __type(value, __u64);
 *     } pages SEC(".maps");
 *
 *     SEC("cxl")
 *     __u64 count(struct cxl_event *event) { ... }
 */
#ifndef FANWEAVE_BPF_H
#define FANWEAVE_BPF_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;

/* The section of a program, of maps (".maps"), or of the license ("license"). */
#define SEC(name) __attribute__((section(name), used))

/* Members of a map's definition. The compiler keeps a number as the length of an array and a type
 * as what a pointer points to; a loader reads both from the types of the object file. */
#define __uint(name, number) int (*name)[number]
#define __type(name, kind) __typeof__(kind) *name
/* What an array of maps or of programs holds: __array(values, struct inner). */
#define __array(name, kind) __typeof__(kind) *name[]

#define __always_inline inline __attribute__((always_inline))
/* A function that is called and not copied: it has a stack frame of its own. */
#define __noinline __attribute__((noinline))

#ifndef NULL
#define NULL ((void *)0)
#endif

/* Between the order of a network and this machine's, which is little-endian. */
#define bpf_htons(value) __builtin_bswap16(value)
#define bpf_ntohs(value) __builtin_bswap16(value)
#define bpf_htonl(value) __builtin_bswap32(value)
#define bpf_ntohl(value) __builtin_bswap32(value)
#define bpf_cpu_to_be64(value) __builtin_bswap64(value)
#define bpf_be64_to_cpu(value) __builtin_bswap64(value)

#include <fanweave/bpf_numbers.h>
#include <fanweave/bpf_helpers.h>

#endif
