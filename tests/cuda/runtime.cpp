// The emulated device: threads of a block are fibres of one thread of the CPU, which change at barriers and
// operations of warps only; blocks run one after the other. The kernels are compiled as if for ThreadSanitizer, whose
// calls before every access to memory end here, and are answered by rules of CUDA, which do not depend on the order
// of threads:
//
// - Two accesses to one place, of which one writes, are a race, unless one thread makes both, both are atomic, or a
//   barrier of their block lies between them. Operations of warps order nothing. Blocks are ordered by a fence and an
//   atomic operation of the one, and then an atomic operation on the same place and a fence of the other, only.
// - What is read was written, and lies in an argument of the launch or in a shared array; what is const is not written.
// - Addresses are multiples of the size of the access.
// - All threads of a block reach the same barrier, and all lanes of a warp the same operation of warps.
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

typedef uint32_t u32;
typedef uint64_t u64;
typedef uintptr_t place;

namespace {
enum { WARP_SIZE = 32, MOST = 1024, STACK = 1 << 16, SEVERAL = 0x7FF, EPOCHS = 0x1FFFFF };
const u32 SEVERAL_BLOCKS = ~0u;

struct Mark {  // who was at a place last
    u32 block;   // its number + 1, or 0
    u32 thread : 11, epoch : 21;
};
struct Cell {
    Mark written, added, read;  // added: by atomics
};
std::unordered_map<const Mark*, std::vector<Mark>> several;  // the marks of each of SEVERAL_BLOCKS, the last one's last

// What a block did before a fence: all of its threads before the last barrier, and the fence's thread until then.
struct Fence {
    u32 epoch, thread;
};
typedef std::map<u32, Fence> Fences;  // by the number of a block + 1
std::map<place, Fences> released;     // before an atomic operation on a place, which later operations on it meet
std::map<u32, Fences> met, acquired;  // of threads of this block: met by an atomic operation, and then by a fence
std::map<u32, Fence> fenced;          // of threads of this block: the last fence
Fences seen;                          // acquired before the last barrier, so by all threads of this block

void join(Fences& into, const Fences& from) {
    for (const auto& [number, fence] : from)
        if (Fence& known = into[number]; known.epoch <= fence.epoch) known = fence;
}

// Of an argument, or of a shared array, an entry of which has 1 << log bytes.
struct Range {
    place start, stop;
    int log, constant;
    unsigned char* filled;  // for each entry, whether it was written; null where all were
    int number;             // of the argument; -1 for a shared array
    Cell* cells;
};
std::vector<Range> arguments, shared;
Range* last;

enum Wait { READY, AT_BARRIER, AT_WARP, DONE };
struct Fibre {
    char* stack;
    void* at;
    Wait wait;
    int line, turn;
    u64 room[2];  // values for other lanes: a lane may be at the next operation before all have read the last one
};
Fibre fibres[MOST];
u32 ballots[MOST / WARP_SIZE][2];  // of each warp, at the same turns
void* home;
u32 current, block, threads, blocks, epoch;
void (*kernel)(void**);
void** given;
bool failed, watching = true;
char message[400];
u64 schedule = 0, state = 1;

u64 random_word() {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}
}  // namespace

// Saves the registers that a function keeps, and goes on on another stack.
extern "C" void emulated_switch(void** save, void* load);
asm(R"(
.text
.type emulated_switch,@function
emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");

namespace {
void give_way() { emulated_switch(&fibres[current].at, home); }

void complain(const char* format, ...) {
    if (failed) return;
    failed = true;
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
}

// Ends the launch: the fibres are left where they are.
#define FAIL(...) (complain(__VA_ARGS__), give_way())

void begin() {
    for (;;) {
        kernel(given);
        fibres[current].wait = DONE;
        give_way();
    }
}

void start(u32 number) {
    Fibre& fibre = fibres[number];
    const bool ended = fibre.wait == DONE;  // of another block: it begins anew by itself
    fibre.wait = READY, fibre.turn = 0;
    if (ended) return;
    if (!fibre.stack)
        fibre.stack = (char*)mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    // not all at the same place of a page, where they would push each other out of the CPU's cache
    void** top = (void**)(fibre.stack + STACK - 64 - number % 128 * 192);
    *--top = nullptr;
    *--top = (void*)begin;
    for (int saved = 0; saved < 6; ++saved) *--top = nullptr;
    fibre.at = top;
}

std::vector<u32> order(u32 size) {
    std::vector<u32> numbers(size);
    for (u32 i = 0; i < size; ++i) numbers[i] = schedule == 1 ? size - 1 - i : i;
    if (schedule > 1)
        for (u32 i = size; i-- > 1;) std::swap(numbers[i], numbers[random_word() % (i + 1)]);
    return numbers;
}

// Lets warps go on all of whose lanes are there. Whoever runs comes to an operation, a barrier or its end, so after
// each turn of all threads a warp goes on, or all are at barriers or done.
void release_warps() {
    for (u32 first = 0; first < threads; first += WARP_SIZE) {
        const u32 stop = std::min(first + WARP_SIZE, threads);
        u32 waiting = 0, elsewhere = 0;
        int line = 0;
        for (u32 i = first; i < stop; ++i) {
            if (fibres[i].wait == AT_WARP) {
                if (waiting++ && fibres[i].line != line)
                    complain("lanes of a warp of block %u are at operations in lines %d and %d", block, line,
                             fibres[i].line);
                line = fibres[i].line;
            } else if (fibres[i].wait == DONE || fibres[i].wait == AT_BARRIER) {
                ++elsewhere;
            }
        }
        if (!waiting || waiting + elsewhere < stop - first) continue;
        if (elsewhere || stop - first < WARP_SIZE)
            complain("%u of 32 lanes of a warp of block %u reach its operation in line %d", waiting, block, line);
        for (u32 i = first; i < stop; ++i) fibres[i].wait = READY;
    }
}

void run_block() {
    for (u32 i = 0; i < threads; ++i) start(i);
    epoch = 1;
    met.clear(), acquired.clear(), fenced.clear(), seen.clear();
    std::vector<u32> turns = order(threads);
    while (!failed) {
        bool warps = false;
        for (u32 number : turns) {
            if (fibres[number].wait != READY) continue;
            current = number;
            emulated_switch(&home, fibres[number].at);
            if (failed) return;
            warps |= fibres[number].wait == AT_WARP;
        }
        if (warps) {
            release_warps();
            continue;
        }
        u32 waiting = 0;
        int line = 0;
        for (u32 i = 0; i < threads; ++i) {
            if (fibres[i].wait != AT_BARRIER) continue;
            if (waiting++ && fibres[i].line != line)
                complain("threads of block %u are at barriers in lines %d and %d", block, line, fibres[i].line);
            line = fibres[i].line;
        }
        if (!waiting) return;
        if (waiting < threads)
            complain("%u of %u threads of block %u reach the barrier in line %d", waiting, threads, block, line);
        for (u32 i = 0; i < threads; ++i) fibres[i].wait = READY;
        ++epoch;
        for (const auto& [thread, fences] : acquired) join(seen, fences);
        if (schedule > 1) turns = order(threads);
    }
}

// Horner's rule, highest power first.
template <int N>
double polynomial(const double (&coefficients)[N], double x) {
    double sum = coefficients[0];
    for (int i = 1; i < N; ++i) sum = sum * x + coefficients[i];
    return sum;
}

Range* find(place at) {
    if (last && at - last->start < last->stop - last->start) return last;
    for (Range& range : arguments)
        if (at - range.start < range.stop - range.start) return last = &range;
    for (Range& range : shared)
        if (at - range.start < range.stop - range.start) return last = &range;
    return nullptr;
}

const char* name(const Range& range) {
    static char text[40];
    if (range.number < 0) return "a shared array";
    snprintf(text, sizeof text, "argument %d", range.number);
    return text;
}

bool before(const Fences& fences, const Mark& mark) {
    const auto found = fences.find(mark.block);
    if (found == fences.end()) return false;
    const Fence& fence = found->second;
    return mark.epoch < fence.epoch || (mark.epoch == fence.epoch && mark.thread == fence.thread);
}

// Whether an earlier access, by others, is not ordered before this one. Blocks have shared arrays of their own; what
// another block did is ordered by its fence and atomic operation, and then by an atomic operation on the same place and
// a fence of this block.
bool unordered(const Mark& mark, bool local) {
    if (!mark.block) return false;
    if (mark.block == block + 1) return mark.epoch == (epoch & EPOCHS) && mark.thread != current;
    if (local) return false;
    if (mark.block == SEVERAL_BLOCKS) {
        for (const Mark& one : several[&mark])
            if (unordered(one, false)) return true;
        return false;
    }
    return !before(seen, mark) && !before(acquired[current], mark);
}

void put(Mark& mark, bool local, bool alone) {
    const u32 now = epoch & EPOCHS;
    Mark own = {block + 1, current, now};
    const bool many = mark.block == SEVERAL_BLOCKS;
    const Mark last = many ? several[&mark].back() : mark;
    const bool same = last.block == block + 1;
    if (same && last.epoch == now && last.thread != current) own.thread = SEVERAL;
    if (alone || local || !mark.block || (same && !many)) {  // a write comes after all earlier ones
        mark = own;
        return;
    }
    std::vector<Mark>& marks = several[&mark];
    if (!many) marks = {mark};
    if (same) marks.back() = own;
    else marks.push_back(own);
    mark = {SEVERAL_BLOCKS, SEVERAL, now};
}

void access(const void* address, u32 size, bool write, bool atomic) {
    if (!watching) return;
    const place at = (place)address, stack = (place)fibres[current].stack;
    if (at - stack < STACK) return;
    const char* does = write ? "writes" : "reads";
    Range* range = find(at);
    if (!range || at + size > range->stop) {
        FAIL("thread %u of block %u %s outside of all arrays, %lld bytes from the end of %s", current, block, does,
             last ? (long long)(at - last->stop) : 0, last ? name(*last) : "memory");
        return;
    }
    if (at % size) FAIL("thread %u of block %u %s %u bytes that are not aligned", current, block, does, size);
    if (write && range->constant) FAIL("thread %u of block %u writes %s, which is const", current, block, name(*range));
    const bool local = range->number < 0;
    const place first = (at - range->start) >> range->log, stop = (at + size - 1 - range->start) >> range->log;
    for (place entry = first; entry <= stop; ++entry) {
        Cell& cell = range->cells[entry];
        const bool own = cell.written.block == block + 1 || cell.added.block == block + 1;
        const bool known = local ? own : !range->filled || range->filled[entry];
        if ((!write || atomic) && !known)
            FAIL("thread %u of block %u reads entry %llu of %s, which nobody has written", current, block,
                 (unsigned long long)entry, name(*range));
        if (unordered(cell.written, local) || (!atomic && unordered(cell.added, local)))
            FAIL("race: thread %u of block %u %s entry %llu of %s, which another wrote without a barrier since",
                 current, block, does, (unsigned long long)entry, name(*range));
        if (write && unordered(cell.read, local))
            FAIL("race: thread %u of block %u writes entry %llu of %s, which another read without a barrier since",
                 current, block, (unsigned long long)entry, name(*range));
        if (!range->constant) put(atomic ? cell.added : write ? cell.written : cell.read, local, write && !atomic);
        if (write && range->filled) range->filled[entry] = 1;
    }
}
}  // namespace

extern "C" {
char emulated_base;
unsigned emulated_thread() { return current; }
unsigned emulated_block() { return block; }
unsigned emulated_threads() { return threads; }
unsigned emulated_blocks() { return blocks; }

void emulated_barrier(int line) {
    fibres[current].wait = AT_BARRIER, fibres[current].line = line;
    give_way();
}

static u64* leave(unsigned mask, u64 value, int line) {
    if (mask != ~0u) FAIL("an operation of warps in line %d has a mask other than all lanes", line);
    Fibre& fibre = fibres[current];
    u64* room = &fibre.room[fibre.turn++ & 1];
    *room = value;
    fibre.wait = AT_WARP, fibre.line = line;
    give_way();
    return room;
}

static u64 taken(const u64* room, u32 lane) {
    const u32 first = current / WARP_SIZE * WARP_SIZE;
    return fibres[first + lane].room[room - fibres[current].room];
}

u64 emulated_exchange(unsigned mask, u64 value, int source, int line) {
    return taken(leave(mask, value, line), (u32)source);
}

unsigned emulated_ballot(unsigned mask, int vote, int line) {
    const u32 lane = current % WARP_SIZE, bit = 1u << lane;
    u32* ballot = &ballots[current / WARP_SIZE][fibres[current].turn & 1];
    *ballot = (*ballot & ~bit) | (vote ? bit : 0);
    leave(mask, 0, line);
    return *ballot;
}

#ifdef CHECKED
#define WATCH(size)                                                                     \
    void __tsan_read##size(void* at) { access(at, size, false, false); }                \
    void __tsan_write##size(void* at) { access(at, size, true, false); }                \
    void __tsan_unaligned_read##size(void* at) { access(at, size, false, false); }      \
    void __tsan_unaligned_write##size(void* at) { access(at, size, true, false); }
WATCH(1) WATCH(2) WATCH(4) WATCH(8) WATCH(16)
void __tsan_read_range(void* at, size_t size) { access(at, size, false, false); }
void __tsan_write_range(void* at, size_t size) { access(at, size, true, false); }
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
#endif

void emulated_fence() {
    if (!watching) return;
    fenced[current] = {epoch & EPOCHS, current};
    join(acquired[current], met[current]);
}

unsigned emulated_add(unsigned* at, unsigned value) {
#ifdef CHECKED
    access(at, sizeof value, true, true);
    if (const Range* range = watching ? find((place)at) : nullptr; range && range->number >= 0) {
        Fences& here = released[(place)at];
        join(met[current], here);
        join(here, seen);
        join(here, acquired[current]);
        if (const auto own = fenced.find(current); own != fenced.end()) here[block + 1] = own->second;
    }
#endif
    const unsigned before = *at;
    *at = before + value;
    return before;
}

// The normal quantile of exp(-25) < p < 1 - exp(-25), to the last places (Wichura 1988, algorithm AS 241).
double emulated_quantile(double p) {
    static const double above[] = {2509.0809287301226727, 33430.575583588128105, 67265.770927008700853,
                                   45921.953931549871457, 13731.693765509461125, 1971.5909503065514427,
                                   133.14166789178437745, 3.3871328727963666080},
                        below[] = {5226.4952788528545610, 28729.085735721942674, 39307.895800092710610,
                                   21213.794301586595867, 5394.1960214247511077, 687.18700749205790830,
                                   42.313330701600911252, 1},
                        outer_above[] = {7.74545014278341407640e-4, 0.0227238449892691845833, 0.241780725177450611770,
                                         1.27045825245236838258, 3.64784832476320460504, 5.76949722146069140550,
                                         4.63033784615654529590, 1.42343711074968357734},
                        outer_below[] = {1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
                                         0.148103976427480074590, 0.689767334985100004550, 1.67638483018380384940,
                                         2.05319162663775882187, 1};
    const double q = p - 0.5;
    if (std::fabs(q) <= 0.425) {
        const double r = 0.180625 - q * q;
        return q * polynomial(above, r) / polynomial(below, r);
    }
    const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p)) - 1.6;
    return std::copysign(polynomial(outer_above, r) / polynomial(outer_below, r), q);
}

void emulated_schedule(u64 number) { schedule = number, state = number | 1; }
void emulated_watch(int whether) { watching = whether; }
const char* emulated_message() { return message; }
void emulated_reset(int both) {
    for (Range& range : arguments) free(range.cells);
    arguments.clear();
    last = nullptr;
    if (both) shared.clear();
}
void emulated_array(void* start, size_t bytes, int log, int constant, unsigned char* filled, int number) {
    if (!watching) return;
    arguments.push_back({(place)start, (place)start + bytes, log, constant, filled, number,
                         (Cell*)calloc((bytes >> log) + 1, sizeof(Cell))});
}
void emulated_shared(place start, size_t bytes) {
    shared.push_back({start, start + bytes, 2, 0, nullptr, -1, (Cell*)calloc((bytes >> 2) + 1, sizeof(Cell))});
}
char* emulated_origin() { return &emulated_base; }

int emulated_launch(void (*what)(void**), unsigned blocks_, unsigned threads_, void** arguments_) {
    kernel = what, blocks = blocks_, threads = threads_, given = arguments_;
    failed = false;
    several.clear(), released.clear();
    // a shared array keeps marks of the last launch
    for (Range& range : shared)
        if (watching) memset((void*)range.cells, 0, ((range.stop - range.start) >> 2) * sizeof(Cell));
    for (u32 number : order(blocks)) {
        block = number;
        run_block();
        if (failed) break;
    }
    return failed;
}
}
