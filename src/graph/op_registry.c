// The op registry: finds ops in the generated table and parses their definitions when they are first asked
// for.
#include "graph/op_parse.h"

#include "base/check.h"
#include "base/log.h"
#include "base/thread.h"
#include <string.h>

// Lives as long as the process, like the table it parses.
static struct {
    bd_mutex mu;
    _Atomic(_Atomic(const bd_op_def *) *) parsed; // [bd_op_table_len], made at the first lookup
    bd_arena arena;                               // guarded by mu
    bd_attr_tensors tensors;                      // guarded by mu
} registry = {.mu = BD_MUTEX_INIT};

static ptrdiff_t find_entry(const char *name)
{
    size_t low = 0, high = bd_op_table_len;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(name, bd_op_table[mid].name);
        if (order == 0) return (ptrdiff_t)mid;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return -1;
}

static const bd_op_def *parse_entry_locked(const bd_op_entry *entry)
{
    BD_STATUS(st);
    bd_op_def *def = BD_ARENA_NEW(&registry.arena, bd_op_def);
    def->op = entry->op;
    if (bd_op_def_parse(def, entry->name, entry->op->signature, entry->op->attrs, &registry.arena,
                        &registry.tensors, st)) {
        bd_error_log("%s", braid_status_message(st));
        BD_ASSERT(!"an op definition does not parse");
    }
    return def;
}

static const bd_op_def *parse_slow(ptrdiff_t index)
{
    bd_mutex_lock(&registry.mu);
    _Atomic(const bd_op_def *) *parsed = atomic_load(&registry.parsed);
    if (!parsed) {
        parsed = bd_arena_calloc(&registry.arena, bd_op_table_len, sizeof *parsed);
        atomic_store(&registry.parsed, parsed);
    }
    const bd_op_def *def = atomic_load(&parsed[index]);
    if (!def) {
        def = parse_entry_locked(&bd_op_table[index]);
        atomic_store(&parsed[index], def);
    }
    bd_mutex_unlock(&registry.mu);
    return def;
}

const bd_op_def *bd_op_lookup(const char *name)
{
    ptrdiff_t index = find_entry(name);
    if (index < 0) return NULL;
    _Atomic(const bd_op_def *) *parsed = atomic_load_explicit(&registry.parsed, memory_order_acquire);
    const bd_op_def *def = parsed ? atomic_load_explicit(&parsed[index], memory_order_acquire) : NULL;
    return def ? def : parse_slow(index);
}

const bd_attr_def *bd_op_def_attr(const bd_op_def *def, const char *name)
{
    for (int i = 0; i < def->attr_count; i++) {
        if (strcmp(def->attrs[i].name, name) == 0) return &def->attrs[i];
    }
    return NULL;
}
