// A traced step as a table for people: where the time went, by device and op.
#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "runtime/run_metadata.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct row {
    char *op; // owned
    int64_t nodes;
    double ns, bytes; // doubles, because sums of a file's integers could overflow
} row;

typedef BD_ARRAY(row) row_list;

static void count_node(row_list *rows, bd_map *by_op, const Tensorflow__NodeExecStats *node)
{
    bd_timeline_label label;
    bd_timeline_label_parse(node, &label);
    const char *op = label.op[0] ? label.op : node->node_name;
    size_t number = (size_t)(uintptr_t)bd_map_get(by_op, op);
    if (!number) {
        bd_array_push(rows, (row){.op = bd_strdup(op)});
        number = rows->len;
        bd_map_put(by_op, op, (void *)(uintptr_t)number);
    }
    row *r = &rows->items[number - 1];
    r->nodes++;
    r->ns += (double)bd_stats_duration_ns(node);
    r->bytes += (double)bd_stats_output_bytes(node);
    bd_timeline_label_fini(&label);
}

static int longest_first(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return strcmp(x->op, y->op);
}

static void print_bytes(double value, char out[16])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;
    for (; value >= 1000 && unit + 1 < BD_COUNTOF(units); unit++)
        value /= 1000;
    snprintf(out, 16, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void print_row(const row *r, double all_ns, bd_strbuf *out)
{
    char bytes[16];
    print_bytes(r->bytes, bytes);
    bd_strbuf_appendf(out, "  %-32s %7lld %11.3f %6.1f %11.1f %11s\n", r->op, (long long)r->nodes,
                      r->ns / 1e6, all_ns > 0 ? 100 * r->ns / all_ns : 0, r->ns / 1e3 / (double)r->nodes,
                      bytes);
}

static void print_device(const Tensorflow__DeviceStepStats *device, size_t rows_max, bd_strbuf *out)
{
    row_list rows = {0};
    bd_map by_op = {0};
    for (size_t i = 0; i < device->n_node_stats; i++)
        count_node(&rows, &by_op, device->node_stats[i]);
    if (rows.len > 1) qsort(rows.items, rows.len, sizeof *rows.items, longest_first);
    row rest = {.op = "(the others)"}, all = {.op = "(all)"};
    for (size_t i = 0; i < rows.len; i++) {
        row *into[] = {&all, i >= rows_max ? &rest : NULL};
        for (size_t j = 0; j < BD_COUNTOF(into) && into[j]; j++) {
            into[j]->nodes += rows.items[i].nodes;
            into[j]->ns += rows.items[i].ns;
            into[j]->bytes += rows.items[i].bytes;
        }
    }
    bd_strbuf_appendf(out, "%s\n  %-32s %7s %11s %6s %11s %11s\n", device->device, "op", "nodes", "total ms",
                      "%", "mean us", "output");
    for (size_t i = 0; i < rows.len && i < rows_max; i++)
        print_row(&rows.items[i], all.ns, out);
    if (rest.nodes) print_row(&rest, all.ns, out);
    if (all.nodes) print_row(&all, all.ns, out);
    for (size_t i = 0; i < rows.len; i++)
        bd_free(rows.items[i].op);
    bd_array_free(&rows);
    bd_map_fini(&by_op);
}

// From the beginning of the first node to the end of the last, by the clocks of their tasks.
static double step_ms(const Tensorflow__StepStats *stats)
{
    double first = 0, last = 0;
    bool is_any = false;
    for (size_t d = 0; d < stats->n_dev_stats; d++) {
        for (size_t i = 0; i < stats->dev_stats[d]->n_node_stats; i++) {
            const Tensorflow__NodeExecStats *n = stats->dev_stats[d]->node_stats[i];
            const double start = (double)bd_stats_start_ns(n), end = start + (double)bd_stats_duration_ns(n);
            if (!is_any || start < first) first = start;
            if (!is_any || end > last) last = end;
            is_any = true;
        }
    }
    return (last - first) / 1e6;
}

char *braid_run_metadata_summary(const braid_run_metadata *m, int rows_max, braid_status *status)
{
    BD_STATUS(own);
    braid_status *st = status ? status : own;
    BD_PROTO_ARENA(arena);
    const Tensorflow__StepStats *stats = bd_run_metadata_stats(m, arena, st);
    if (!stats) return NULL;
    bd_strbuf out = {0};
    bd_strbuf_appendf(&out, "Step: %.3f ms on %zu device%s\n", step_ms(stats), stats->n_dev_stats,
                      stats->n_dev_stats == 1 ? "" : "s");
    for (size_t d = 0; d < stats->n_dev_stats; d++)
        print_device(stats->dev_stats[d], rows_max > 0 ? (size_t)rows_max : SIZE_MAX, &out);
    char *given = strdup(bd_strbuf_str(&out)); // the caller's, by free(): not from our allocator
    if (!given) bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "No memory for a summary of %zu bytes", out.len);
    bd_strbuf_fini(&out);
    return given;
}
