// Floating point numbers as text.
//
// Digits are tried from few to many, until they read back as the number. The nearest decimal number of so
// many digits is tried, and the one above it: below a power of two numbers lie twice as dense, and there the
// nearest may be taken for a neighbour while the one above is not.
#include "proto/text_number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 17

// 0.d1 d2 d3 ... times 10 to `point`.
typedef struct decimal {
    char digits[DIGITS_MAX + 1];
    int count, point;
} decimal;

static decimal nearest(double value, int count)
{
    char text[DIGITS_MAX + 16];
    decimal d = {.count = count};
    snprintf(text, sizeof text, "%.*e", count - 1, value); // d[.ddd]e+XX
    d.digits[0] = text[0];
    if (count > 1) memcpy(d.digits + 1, text + 2, (size_t)count - 1);
    d.point = atoi(strchr(text, 'e') + 1) + 1;
    return d;
}

static decimal above(decimal d)
{
    int i = d.count - 1;
    while (i >= 0 && d.digits[i] == '9')
        d.digits[i--] = '0';
    if (i >= 0) {
        d.digits[i]++;
    } else {
        d.digits[0] = '1';
        d.point++;
    }
    return d;
}

static double value_of(const decimal *d)
{
    char text[DIGITS_MAX + 16];
    double value;
    snprintf(text, sizeof text, "0.%.*se%d", d->count, d->digits, d->point);
    return bd_parse_double(text, &value) ? value : INFINITY;
}

static decimal shortest_double(double value)
{
    // 15 digits survive in any double of full precision: when fewer do, the rest of the 15 is zeros.
    for (int count = value < DBL_MIN ? 1 : DBL_DIG; count < DIGITS_MAX; count++) {
        decimal d = nearest(value, count);
        if (value_of(&d) == value) return d;
        d = above(d);
        if (value_of(&d) == value) return d;
    }
    return nearest(value, DIGITS_MAX);
}

// protobuf's own way with floats: the nearest decimal number of at least 6 digits.
static decimal shortest_float(float value)
{
    decimal d = {.count = 0};
    for (int count = 6; count <= 9; count++) {
        d = nearest(value, count);
        if ((float)value_of(&d) == value) break;
    }
    return d;
}

static void put_decimal(bd_strbuf *out, decimal d)
{
    while (d.count > 1 && d.digits[d.count - 1] == '0')
        d.count--;
    if (d.point < -3 || d.point > 16) {
        bd_strbuf_appendf(out, d.count > 1 ? "%c.%.*s" : "%c%.*s", d.digits[0], d.count - 1, d.digits + 1);
        bd_strbuf_appendf(out, "e%+03d", d.point - 1);
    } else if (d.point <= 0) {
        bd_strbuf_appendf(out, "0.%.*d%.*s", -d.point, 0, d.count, d.digits);
    } else {
        for (int i = 0; i < d.point || i < d.count; i++) {
            if (i == d.point) bd_strbuf_append_char(out, '.');
            bd_strbuf_append_char(out, i < d.count ? d.digits[i] : '0');
        }
        if (d.count <= d.point) bd_strbuf_append(out, ".0");
    }
}

// Writes a number without digits, or 0. Returns whether it did.
static bool put_special(bd_strbuf *out, double value)
{
    if (isnan(value)) {
        bd_strbuf_append(out, "nan");
        return true;
    }
    if (signbit(value)) bd_strbuf_append_char(out, '-');
    if (isinf(value)) bd_strbuf_append(out, "inf");
    if (value == 0) bd_strbuf_append(out, "0.0");
    return isinf(value) || value == 0;
}

void bd_text_put_double(bd_strbuf *out, double value)
{
    if (!put_special(out, value)) put_decimal(out, shortest_double(fabs(value)));
}

void bd_text_put_float(bd_strbuf *out, float value)
{
    if (!put_special(out, (double)value)) put_decimal(out, shortest_float(fabsf(value)));
}
