// Parses the equations of Einsum.
#include "ops/linalg/einsum.h"

#include <string.h>

// One subscript of an equation: letters, and optionally `...`.
typedef struct subscript {
    const char *text;
    size_t len;
} subscript;

typedef struct reader {
    bd_einsum *e;
    const char *equation;
    braid_status *st;
    char letters[BD_EINSUM_LABELS_MAX]; // of each label; 0 for labels of `...`
    // label of the last dimension of `...`; the earlier dimensions have the next labels
    int first_broadcast;
    int broadcast_count;
    bool unknown[BD_EINSUM_LABELS_MAX]; // the size is unknown in an operand
} reader;

static const char *find_dots(const subscript *s)
{
    for (size_t i = 0; i < s->len; i++) {
        if (s->text[i] == '.') return s->text + i;
    }
    return NULL;
}

static braid_code check_dots(const reader *r, const subscript *s)
{
    const char *dots = find_dots(s);
    if (!dots) return BRAID_OK;
    size_t left = s->len - (size_t)(dots - s->text);
    if (left < 3 || strncmp(dots, "...", 3) != 0)
        return bd_fail(r->st, BRAID_INVALID_ARGUMENT, "Invalid ellipsis in einsum equation: '%s'",
                       r->equation);
    subscript rest = {dots + 3, left - 3};
    if (find_dots(&rest))
        return bd_fail(r->st, BRAID_INVALID_ARGUMENT,
                       "Expected at most one ellipsis in a part of einsum equation '%s'", r->equation);
    return BRAID_OK;
}

// Splits "ab,bc->ac" into its subscripts; the last one is the output's.
static braid_code cut(reader *r, subscript parts[BD_EINSUM_INPUTS_MAX + 1])
{
    const char *arrow = strstr(r->equation, "->");
    if (!arrow || strstr(arrow + 2, "->"))
        return bd_fail(r->st, BRAID_INVALID_ARGUMENT, "Expecting exactly one '->' in einsum equation: %s",
                       r->equation);
    r->e->inputs = 0;
    for (const char *at = r->equation; at <= arrow; at++) {
        if (r->e->inputs == BD_EINSUM_INPUTS_MAX)
            return bd_fail(r->st, BRAID_INVALID_ARGUMENT,
                           "Expecting 1 or 2 input subscripts in equation '%s' but got more", r->equation);
        size_t len = strcspn(at, ",-");
        if (at + len < arrow && at[len] == '-')
            return bd_fail(r->st, BRAID_INVALID_ARGUMENT, "Invalid character '-' in einsum equation: %s",
                           r->equation);
        parts[r->e->inputs++] = (subscript){at, len};
        at += len;
    }
    parts[r->e->inputs] = (subscript){arrow + 2, strlen(arrow + 2)};
    for (int i = 0; i <= r->e->inputs; i++) {
        braid_code code = check_dots(r, &parts[i]);
        if (code) return code;
    }
    return BRAID_OK;
}

// The label of a letter; a new letter gets a new label. -1: too many labels.
static int label_of(reader *r, char letter)
{
    for (int i = 0; i < r->e->label_count; i++) {
        if (r->letters[i] == letter) return i;
    }
    if (r->e->label_count == 2 * BRAID_RANK_MAX) return -1;
    r->letters[r->e->label_count] = letter;
    r->e->size[r->e->label_count] = -1;
    return r->e->label_count++;
}

// Merges a known size into a label's size: all sizes of a letter must be equal, sizes of `...` are broadcast.
static braid_code record(reader *r, int label, int64_t size, bool is_broadcast)
{
    int64_t *known = &r->e->size[label];
    r->unknown[label] |= size < 0;
    if (size < 0 || *known == size) return BRAID_OK;
    if (is_broadcast && size == 1 && *known >= 0) return BRAID_OK;
    if (*known < 0 || (is_broadcast && *known == 1)) {
        *known = size;
        return BRAID_OK;
    }
    return bd_fail(r->st, BRAID_INVALID_ARGUMENT,
                   "Expected dimension %lld but got dimension %lld in einsum '%s'", (long long)*known,
                   (long long)size, r->equation);
}

// Assigns labels to the dimensions of one operand; `dots` of the dimensions belong to `...`.
static braid_code label_dims(reader *r, const subscript *s, int dots, bd_einsum_labels *labels)
{
    labels->count = 0;
    for (size_t i = 0; i < s->len; i++) {
        int first = 0, count = 1;
        if (s->text[i] == '.') {
            first = r->first_broadcast + dots - 1; // all `...` share the label of the last dimension
            count = dots;
            i += 2;
        } else {
            first = label_of(r, s->text[i]);
        }
        if (first < 0 && count > 0)
            return bd_fail(r->st, BRAID_INVALID_ARGUMENT, "too many labels in einsum equation '%s'",
                           r->equation);
        for (int k = 0; k < count; k++) {
            if (labels->count == BRAID_RANK_MAX)
                return bd_fail(r->st, BRAID_INVALID_ARGUMENT,
                               "more than %d dimensions in einsum equation '%s'", BRAID_RANK_MAX,
                               r->equation);
            labels->label[labels->count++] = first - k;
        }
    }
    return BRAID_OK;
}

// The number of an operand's dimensions that `...` stands for. -1: the rank does not fit the subscript.
static int count_dots(const subscript *s, int rank)
{
    bool has_dots = find_dots(s) != NULL;
    int letters = (int)s->len - (has_dots ? 3 : 0), dots = rank - letters;
    return dots < 0 || (dots > 0 && !has_dots) ? -1 : dots;
}

static braid_code read_input(reader *r, const subscript *s, int i, const braid_shape *shape)
{
    int dots = count_dots(s, shape->rank);
    if (dots < 0)
        return bd_fail(r->st, BRAID_INVALID_ARGUMENT,
                       "Expected input %d of einsum '%s' to have rank %s%zu but got: %d", i, r->equation,
                       find_dots(s) ? "at least " : "", find_dots(s) ? s->len - 3 : s->len, shape->rank);
    braid_code code = label_dims(r, s, dots, &r->e->in[i]);
    for (int d = 0; d < r->e->in[i].count && !code; d++) {
        int label = r->e->in[i].label[d];
        code = record(r, label, shape->dims[d], label >= r->first_broadcast);
    }
    return code;
}

static braid_code read_output(reader *r, const subscript *s)
{
    int known = r->e->label_count;
    if (r->broadcast_count > 0 && !find_dots(s))
        return bd_fail(
            r->st, BRAID_INVALID_ARGUMENT,
            "Output contains %d broadcasting dimension(s) but no ellipsis (...) was found in the output "
            "subscripts of '%s'.",
            r->broadcast_count, r->equation);
    braid_code code = label_dims(r, s, r->broadcast_count, &r->e->out);
    if (!code && r->e->label_count > known)
        code =
            bd_fail(r->st, BRAID_INVALID_ARGUMENT, "Label '%c' of the output is in no input of einsum '%s'",
                    r->letters[known], r->equation);
    return code;
}

braid_code bd_einsum_read(bd_einsum *e, const char *equation, const braid_shape *shapes, int count,
                          braid_status *st)
{
    subscript parts[BD_EINSUM_INPUTS_MAX + 1];
    reader r = {.e = e, .equation = equation, .st = st, .first_broadcast = 2 * BRAID_RANK_MAX};
    *e = (bd_einsum){0};
    braid_code code = cut(&r, parts);
    if (code) return code;
    if (e->inputs != count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Expected %d inputs but got: %d for einsum '%s'",
                       e->inputs, count, equation);
    for (int i = 2 * BRAID_RANK_MAX; i < BD_EINSUM_LABELS_MAX; i++)
        e->size[i] = -1;
    for (int i = 0; i < count; i++) {
        int dots = count_dots(&parts[i], shapes[i].rank);
        if (dots > r.broadcast_count) r.broadcast_count = dots;
    }
    for (int i = 0; i < count && !code; i++)
        code = read_input(&r, &parts[i], i, &shapes[i]);
    for (int i = r.first_broadcast; i < BD_EINSUM_LABELS_MAX; i++) {
        if (r.unknown[i] && e->size[i] == 1) e->size[i] = -1; // an unknown size may be more than 1
    }
    return code ? code : read_output(&r, &parts[count]);
}

braid_shape bd_einsum_shape(const bd_einsum *e)
{
    braid_shape shape = {.rank = e->out.count};
    for (int d = 0; d < e->out.count; d++)
        shape.dims[d] = e->size[e->out.label[d]];
    return shape;
}
