// Tensors as text, for messages.
#include "base/check.h"
#include "base/half.h"
#include "tensor/tensor.h"
#include <stdio.h>
#include <stdlib.h>

// The shortest of a few precisions that reads back as the same number.
static void print_number(double value, bool is_double, bd_strbuf *out)
{
    char text[32];
    static const int digits[2][3] = {{6, 8, 9}, {6, 15, 17}};
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%.*g", digits[is_double][i], value);
        if (is_double ? strtod(text, NULL) == value : strtof(text, NULL) == (float)value) break;
    }
    bd_strbuf_append(out, text);
}

static void print_string(const bd_string *s, bd_strbuf *out)
{
    bd_strbuf_append_char(out, '"');
    for (size_t i = 0; i < s->len; i++) {
        unsigned char c = (unsigned char)s->data[i];
        if (c == '"' || c == '\\')
            bd_strbuf_appendf(out, "\\%c", c);
        else if (c >= 0x20 && c < 0x7f)
            bd_strbuf_append_char(out, (char)c);
        else
            bd_strbuf_appendf(out, "\\%03o", c);
    }
    bd_strbuf_append_char(out, '"');
}

static void print_complex(double real, double imaginary, bool is_double, bd_strbuf *out)
{
    bd_strbuf_append_char(out, '(');
    print_number(real, is_double, out);
    bd_strbuf_append_char(out, ',');
    print_number(imaginary, is_double, out);
    bd_strbuf_append_char(out, ')');
}

void bd_tensor_print_element(const braid_tensor *t, int64_t i, bd_strbuf *out)
{
    const void *data = t->data;
    switch (t->dtype) {
    case BRAID_FLOAT: print_number((double)((const float *)data)[i], false, out); break;
    case BRAID_DOUBLE: print_number(((const double *)data)[i], true, out); break;
    case BRAID_HALF:
        bd_strbuf_appendf(out, "%g", (double)bd_float_of_half(((const uint16_t *)data)[i]));
        break;
    case BRAID_BFLOAT16:
        bd_strbuf_appendf(out, "%g", (double)bd_float_of_bfloat16(((const uint16_t *)data)[i]));
        break;
    case BRAID_INT32:
    case BRAID_QINT32: bd_strbuf_appendf(out, "%d", ((const int32_t *)data)[i]); break;
    case BRAID_UINT32: bd_strbuf_appendf(out, "%u", ((const uint32_t *)data)[i]); break;
    case BRAID_INT64: bd_strbuf_appendf(out, "%lld", (long long)((const int64_t *)data)[i]); break;
    case BRAID_UINT64: bd_strbuf_appendf(out, "%llu", (unsigned long long)((const uint64_t *)data)[i]); break;
    case BRAID_INT16:
    case BRAID_QINT16: bd_strbuf_appendf(out, "%d", ((const int16_t *)data)[i]); break;
    case BRAID_UINT16:
    case BRAID_QUINT16: bd_strbuf_appendf(out, "%d", ((const uint16_t *)data)[i]); break;
    case BRAID_INT8:
    case BRAID_QINT8: bd_strbuf_appendf(out, "%d", ((const int8_t *)data)[i]); break;
    case BRAID_UINT8:
    case BRAID_QUINT8: bd_strbuf_appendf(out, "%d", ((const uint8_t *)data)[i]); break;
    case BRAID_BOOL: bd_strbuf_append(out, ((const uint8_t *)data)[i] ? "true" : "false"); break;
    case BRAID_COMPLEX64:
        print_complex((double)((const float *)data)[2 * i], (double)((const float *)data)[2 * i + 1], false,
                      out);
        break;
    case BRAID_COMPLEX128:
        print_complex(((const double *)data)[2 * i], ((const double *)data)[2 * i + 1], true, out);
        break;
    case BRAID_STRING: print_string(&bd_tensor_str(t)[i], out); break;
    case BRAID_RESOURCE: {
        const bd_resource_handle *h = &bd_tensor_handle(t)[i];
        bd_strbuf_appendf(out, "<%s %s>", h->type_name ? h->type_name : "resource", h->name ? h->name : "");
        break;
    }
    case BRAID_VARIANT: bd_strbuf_appendf(out, "<%s>", bd_variant_type_name(bd_tensor_variant(t)[i])); break;
    case BRAID_INVALID: BD_UNREACHABLE();
    }
}

void bd_tensor_print(const braid_tensor *t, int max_elements, bd_strbuf *out)
{
    if (!bd_tensor_is_set(t)) {
        bd_strbuf_append(out, "no tensor");
        return;
    }
    int64_t count = bd_tensor_count(t);
    bd_strbuf_append(out, braid_dtype_name(t->dtype));
    bd_shape_print(&t->shape, out);
    bd_strbuf_append(out, " [");
    for (int64_t i = 0; i < count && i < max_elements; i++) {
        if (i) bd_strbuf_append_char(out, ' ');
        bd_tensor_print_element(t, i, out);
    }
    bd_strbuf_append(out, count > max_elements ? "]..." : "]");
}

// The number of the innermost dimensions that element `i` is the first of.
static int dims_begun(const braid_shape *shape, int64_t i)
{
    int dims = 0;
    for (int64_t size = 1; dims < shape->rank; dims++) {
        size *= shape->dims[shape->rank - 1 - dims];
        if (i % size != 0) break;
    }
    return dims;
}

static void print_repeated(char c, int count, bd_strbuf *out)
{
    for (int i = 0; i < count; i++)
        bd_strbuf_append_char(out, c);
}

char *braid_tensor_text(const braid_tensor *t, int64_t max_elements)
{
    bd_strbuf out = {0};
    const int rank = t->shape.rank;
    const int64_t count = bd_tensor_count(t), shown = max_elements < 0 ? count : bd_min(count, max_elements);
    if (shown == 0) print_repeated('[', rank, &out);
    for (int64_t i = 0; i < shown; i++) {
        const int begun = dims_begun(&t->shape, i);
        if (i > 0 && begun == 0) bd_strbuf_append_char(&out, ' ');
        if (i > 0 && begun > 0) {
            print_repeated(']', begun, &out);
            bd_strbuf_append_char(&out, '\n');
            print_repeated(' ', rank - begun, &out);
        }
        print_repeated('[', begun, &out);
        bd_tensor_print_element(t, i, &out);
    }
    if (shown < count) bd_strbuf_append(&out, shown ? " ..." : "...");
    print_repeated(']', rank, &out);
    return bd_strbuf_take(&out);
}
