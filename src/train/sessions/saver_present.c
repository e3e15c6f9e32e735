// Savers of what a checkpoint has: comparing variables with its tensors, and telling what is left.
#include "train/sessions/saver_present.h"

#include "base/alloc.h"
#include "base/status.h"
#include "base/strbuf.h"

void train_present_open(train_present *p, braid_graph *g, const braid_saver_options *o)
{
    BD_STATUS(st);
    if (!o->present_in || braid_graph_status(g, NULL)) return;
    *p = (train_present){.graph = g, .reshapes = o->reshape, .skips = o->skip_mismatched};
    p->checkpoint = braid_checkpoint_reader_open(o->present_in, st);
    if (!p->checkpoint) braid_graph_fail(g, st->code, "%s", braid_status_message(st));
}

// How a tensor of the checkpoint differs from a variable; NULL when it does not. The caller frees it.
static char *difference(const train_present *p, const braid_checkpoint_entry *e, braid_dtype dtype,
                        braid_shape shape)
{
    const bool fits = p->reshapes ? braid_shape_num_elements(e->shape) == braid_shape_num_elements(shape)
                                  : braid_shape_equal(e->shape, shape);
    if (fits && e->dtype == dtype) return NULL;
    char *wanted = braid_shape_text(shape), *found = braid_shape_text(e->shape);
    char *text = bd_asprintf("%s %s, in the checkpoint %s %s", braid_dtype_name(dtype), wanted,
                             braid_dtype_name(e->dtype), found);
    bd_free(wanted);
    bd_free(found);
    return text;
}

bool train_present_takes(train_present *p, const char *name, braid_dtype dtype, braid_shape shape)
{
    if (!p->checkpoint) return true;
    const braid_checkpoint_entry *e = braid_checkpoint_reader_find(p->checkpoint, name);
    char *differs = e ? difference(p, e, dtype, shape) : NULL;
    if (differs && !p->skips)
        braid_graph_fail(
            p->graph, BRAID_INVALID_ARGUMENT,
            "The saver cannot restore variable %s from %s: it is %s (skip_mismatched leaves such "
            "variables out)",
            name, braid_checkpoint_reader_prefix(p->checkpoint), differs);
    const bool takes = e && !differs;
    bd_free(bd_map_put(takes ? &p->taken : &p->left, name, differs)); // a part of the same whole
    return takes;
}

// Appends the names, separated by commas, with what is different.
static void append_names(const bd_map *names, bool with_reasons, bd_strbuf *out)
{
    size_t pos = 0;
    const char *name;
    void *differs;
    bool is_first = true;
    while (bd_map_next(names, &pos, &name, &differs)) {
        bd_strbuf_appendf(out, "%s%s", is_first ? "" : ", ", name);
        if (with_reasons)
            bd_strbuf_appendf(out, " (%s)", differs ? (char *)differs : "not in the checkpoint");
        is_first = false;
    }
}

static char *report(const train_present *p)
{
    bd_strbuf text = {0};
    append_names(&p->taken, false, &text);
    bd_strbuf_append(&text, "; left as they are: ");
    append_names(&p->left, true, &text);
    if (bd_map_count(&p->left) == 0) bd_strbuf_append(&text, "none");
    return bd_strbuf_take(&text);
}

char *train_present_close(train_present *p)
{
    if (!p->checkpoint) return NULL;
    if (bd_map_count(&p->taken) == 0)
        braid_graph_fail(p->graph, BRAID_NOT_FOUND, "The checkpoint %s has none of the saver's variables",
                         braid_checkpoint_reader_prefix(p->checkpoint));
    char *text = report(p);
    size_t pos = 0;
    void *differs;
    while (bd_map_next(&p->left, &pos, NULL, &differs))
        bd_free(differs);
    bd_map_fini(&p->taken);
    bd_map_fini(&p->left);
    braid_checkpoint_reader_close(p->checkpoint);
    return text;
}
