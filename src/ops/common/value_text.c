// Single values as text.
#include "ops/common/value_text.h"

#include "base/half.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append_float(float value, bd_strbuf *out)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", (double)value);
    if (strtof(text, NULL) != value && value == value) snprintf(text, sizeof text, "%.8g", (double)value);
    bd_strbuf_append(out, value == value ? text : "nan");
}

void bd_escaped_text(const bd_string *s, bd_strbuf *out)
{
    static const char escaped[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";
    for (size_t i = 0; i < s->len; i++) {
        unsigned char c = (unsigned char)s->data[i];
        const char *at = c ? strchr(escaped, c) : NULL;
        if (at)
            bd_strbuf_appendf(out, "\\%c", letters[at - escaped]);
        else if (c >= 0x20 && c < 0x7f)
            bd_strbuf_append_char(out, (char)c);
        else
            bd_strbuf_appendf(out, "\\%03o", c);
    }
}

void bd_value_text(const braid_tensor *t, int64_t at, bd_strbuf *out)
{
    switch (t->dtype) {
    case BRAID_FLOAT: append_float(bd_tensor_f32(t)[at], out); break;
    case BRAID_HALF: append_float(bd_float_of_half(((const uint16_t *)t->data)[at]), out); break;
    case BRAID_BFLOAT16: append_float(bd_float_of_bfloat16(((const uint16_t *)t->data)[at]), out); break;
    case BRAID_BOOL: bd_strbuf_append_char(out, bd_tensor_bool(t)[at] ? '1' : '0'); break;
    case BRAID_COMPLEX64:
    case BRAID_COMPLEX128:
    case BRAID_RESOURCE: bd_strbuf_append_char(out, '?'); break; // TensorFlow has no text for these
    case BRAID_STRING:
        bd_strbuf_append_char(out, '"');
        bd_escaped_text(&bd_tensor_str(t)[at], out);
        bd_strbuf_append_char(out, '"');
        break;
    default: bd_tensor_print_element(t, at, out);
    }
}
