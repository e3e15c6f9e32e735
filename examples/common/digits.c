// Handwritten-like digits: strokes under random change, drawn with soft ink.
#include "digits.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

const digits_style digits_train = {.seed = 0x5eed0001,
                                   .jitter = 0.030f,
                                   .turn = 0.29f,
                                   .slant = 0.30f,
                                   .size_min = 0.68f,
                                   .shift = 2.6f,
                                   .bend = 0.035f,
                                   .ink_min = 0.8f,
                                   .ink_max = 1.7f,
                                   .noise = 14.0f};
const digits_style digits_test = {.seed = 0x7e570002,
                                  .jitter = 0.026f,
                                  .turn = 0.27f,
                                  .slant = 0.26f,
                                  .size_min = 0.68f,
                                  .shift = 2.4f,
                                  .bend = 0.030f,
                                  .ink_min = 0.9f,
                                  .ink_max = 1.6f,
                                  .noise = 18.0f};

// ---- The model: strokes through points, x to the right and y down, in a square of side 1 ----

#define STROKE_POINTS_MAX 12
#define FORM_STROKES_MAX 3
#define FORMS_MAX 3

typedef struct point {
    float x, y;
} point;

typedef struct stroke {
    int count;
    point points[STROKE_POINTS_MAX];
} stroke;

typedef struct form {
    int count;
    stroke strokes[FORM_STROKES_MAX];
} form;

// The ways in which people write each digit.
typedef struct digit_forms {
    int count;
    form forms[FORMS_MAX];
} digit_forms;

// clang-format off
static const digit_forms model[10] = {
    {2, {{1, {{9, {{.50f,.05f},{.25f,.18f},{.16f,.50f},{.25f,.82f},{.50f,.95f},{.75f,.82f},{.84f,.50f},{.75f,.18f},{.50f,.05f}}}}},
         {1, {{9, {{.62f,.06f},{.36f,.12f},{.20f,.42f},{.24f,.80f},{.46f,.95f},{.70f,.85f},{.80f,.50f},{.74f,.18f},{.48f,.08f}}}}}}},
    {3, {{1, {{3, {{.52f,.05f},{.50f,.50f},{.48f,.95f}}}}},
         {2, {{2, {{.32f,.26f},{.53f,.06f}}}, {3, {{.53f,.06f},{.52f,.50f},{.52f,.95f}}}}},
         {3, {{2, {{.33f,.24f},{.52f,.06f}}}, {3, {{.52f,.06f},{.51f,.50f},{.51f,.94f}}}, {2, {{.28f,.95f},{.76f,.94f}}}}}}},
    {2, {{2, {{7, {{.20f,.28f},{.32f,.09f},{.58f,.05f},{.78f,.22f},{.70f,.45f},{.45f,.70f},{.17f,.93f}}}, {3, {{.17f,.93f},{.50f,.91f},{.85f,.93f}}}}},
         {1, {{11, {{.22f,.24f},{.42f,.06f},{.70f,.12f},{.74f,.36f},{.56f,.64f},{.30f,.90f},{.16f,.84f},{.28f,.72f},{.48f,.84f},{.66f,.94f},{.86f,.84f}}}}}}},
    {2, {{2, {{5, {{.20f,.15f},{.46f,.05f},{.74f,.15f},{.70f,.38f},{.42f,.47f}}}, {5, {{.42f,.47f},{.76f,.56f},{.80f,.80f},{.50f,.95f},{.18f,.86f}}}}},
         {3, {{2, {{.22f,.07f},{.76f,.07f}}}, {2, {{.76f,.07f},{.46f,.42f}}}, {5, {{.46f,.42f},{.76f,.54f},{.78f,.80f},{.50f,.95f},{.20f,.88f}}}}}}},
    {2, {{3, {{3, {{.64f,.05f},{.40f,.36f},{.14f,.66f}}}, {2, {{.14f,.66f},{.88f,.63f}}}, {2, {{.66f,.30f},{.65f,.95f}}}}},
         {2, {{4, {{.24f,.08f},{.20f,.46f},{.46f,.55f},{.78f,.48f}}}, {3, {{.78f,.06f},{.75f,.50f},{.70f,.95f}}}}}}},
    {2, {{3, {{2, {{.80f,.07f},{.30f,.08f}}}, {2, {{.30f,.08f},{.25f,.45f}}}, {6, {{.25f,.45f},{.50f,.38f},{.77f,.50f},{.78f,.76f},{.54f,.94f},{.18f,.87f}}}}},
         {2, {{2, {{.82f,.08f},{.40f,.06f}}}, {8, {{.40f,.06f},{.28f,.22f},{.30f,.40f},{.55f,.46f},{.74f,.62f},{.70f,.84f},{.46f,.95f},{.20f,.88f}}}}}}},
    {2, {{1, {{9, {{.70f,.07f},{.42f,.26f},{.24f,.56f},{.28f,.84f},{.50f,.95f},{.74f,.84f},{.74f,.63f},{.52f,.53f},{.28f,.66f}}}}},
         {1, {{9, {{.48f,.05f},{.32f,.30f},{.22f,.60f},{.30f,.88f},{.54f,.94f},{.76f,.80f},{.68f,.58f},{.44f,.58f},{.26f,.76f}}}}}}},
    {3, {{2, {{3, {{.15f,.12f},{.50f,.09f},{.85f,.10f}}}, {3, {{.85f,.10f},{.60f,.48f},{.42f,.95f}}}}},
         {3, {{2, {{.16f,.10f},{.84f,.09f}}}, {3, {{.84f,.09f},{.60f,.48f},{.44f,.95f}}}, {2, {{.34f,.50f},{.76f,.47f}}}}},
         {3, {{2, {{.20f,.24f},{.20f,.09f}}}, {2, {{.20f,.09f},{.80f,.09f}}}, {3, {{.80f,.09f},{.64f,.45f},{.52f,.95f}}}}}}},
    {2, {{1, {{11, {{.72f,.20f},{.50f,.05f},{.28f,.20f},{.38f,.41f},{.65f,.58f},{.76f,.80f},{.50f,.95f},{.24f,.80f},{.36f,.58f},{.62f,.41f},{.72f,.20f}}}}},
         {2, {{7, {{.50f,.05f},{.28f,.16f},{.30f,.38f},{.50f,.47f},{.70f,.38f},{.72f,.16f},{.50f,.05f}}}, {7, {{.50f,.47f},{.24f,.60f},{.24f,.84f},{.50f,.95f},{.76f,.84f},{.76f,.60f},{.50f,.47f}}}}}}},
    {2, {{2, {{7, {{.75f,.28f},{.52f,.48f},{.26f,.37f},{.30f,.13f},{.55f,.05f},{.75f,.16f},{.75f,.28f}}}, {3, {{.75f,.28f},{.73f,.60f},{.62f,.95f}}}}},
         {2, {{7, {{.72f,.24f},{.48f,.44f},{.24f,.30f},{.34f,.09f},{.60f,.06f},{.73f,.16f},{.72f,.24f}}}, {4, {{.72f,.24f},{.74f,.62f},{.58f,.92f},{.26f,.90f}}}}}}},
};
// clang-format on

// ---- Random numbers: splitmix64, started from seed and number ----

typedef struct rng {
    uint64_t state;
} rng;

static uint64_t next(rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static float unit(rng *r) // [0, 1)
{
    return (float)(next(r) >> 40) * 0x1p-24f;
}

static float around(rng *r, float largest) // [-largest, largest)
{
    return (2 * unit(r) - 1) * largest;
}

// Nearly normal: the sum of four 16-bit uniform numbers out of one draw, scaled to standard deviation 1.
static float normal(rng *r)
{
    uint64_t z = next(r);
    int64_t sum = (int64_t)(z & 0xffff) + (int64_t)((z >> 16) & 0xffff) + (int64_t)((z >> 32) & 0xffff) +
                  (int64_t)(z >> 48);
    return (float)(sum - 2 * 0xffff) * (1.7320508f / 65536.0f);
}

// ---- One hand ----

typedef struct hand {
    float xx, xy, yx, yy; // from the model's square, middle at 0, to pixels
    float x0, y0;         // where the middle lies, pixels
    float bend, wave_x, wave_y, phase_x, phase_y;
    float ink;
} hand;

#define DIGIT_HEIGHT 20.0f // pixels, as in MNIST: 4 pixels of paper on each side

static hand take_hand(const digits_style *s, rng *r)
{
    float turn = around(r, s->turn), slant = around(r, s->slant);
    float height = DIGIT_HEIGHT * (s->size_min + (1 - s->size_min) * unit(r));
    float width = height * (0.62f + 0.36f * unit(r));
    float c = cosf(turn), n = sinf(turn);
    hand h = {
        .xx = c * width, .xy = (-n - c * slant) * height, .yx = n * width, .yy = (c - n * slant) * height};
    h.x0 = (DIGITS_SIDE - 1) / 2.0f + around(r, s->shift);
    h.y0 = (DIGITS_SIDE - 1) / 2.0f + around(r, s->shift);
    h.bend = s->bend * DIGIT_HEIGHT * unit(r);
    h.wave_x = 3 + 4 * unit(r);
    h.wave_y = 3 + 4 * unit(r);
    h.phase_x = 6.2831853f * unit(r);
    h.phase_y = 6.2831853f * unit(r);
    h.ink = s->ink_min + (s->ink_max - s->ink_min) * unit(r);
    return h;
}

static point place(const hand *h, point p)
{
    float x = p.x - 0.5f, y = p.y - 0.5f;
    return (point){h->x0 + h->xx * x + h->xy * y + h->bend * sinf(h->wave_x * p.y + h->phase_x),
                   h->y0 + h->yx * x + h->yy * y + h->bend * sinf(h->wave_y * p.x + h->phase_y)};
}

// ---- Drawing ----

static float clamp(float v, float low, float high)
{
    return v < low ? low : v > high ? high : v;
}

static int pixel_in_range(float v)
{
    return (int)clamp(v, 0, DIGITS_SIDE - 1);
}

// Ink along the straight line from a to b: full within the half width, fading over one pixel.
static void draw_line(float *paper, point a, point b, float ink)
{
    float reach = ink + 0.5f;
    int left = pixel_in_range(fminf(a.x, b.x) - reach), right = pixel_in_range(fmaxf(a.x, b.x) + reach + 1);
    int top = pixel_in_range(fminf(a.y, b.y) - reach), bottom = pixel_in_range(fmaxf(a.y, b.y) + reach + 1);
    float dx = b.x - a.x, dy = b.y - a.y, length2 = dx * dx + dy * dy + 1e-6f;
    for (int y = top; y <= bottom; y++) {
        for (int x = left; x <= right; x++) {
            float px = (float)x - a.x, py = (float)y - a.y;
            float t = clamp((px * dx + py * dy) / length2, 0, 1);
            float ex = px - t * dx, ey = py - t * dy, distance2 = ex * ex + ey * ey;
            if (distance2 >= reach * reach) continue;
            float dark = clamp(reach - sqrtf(distance2), 0, 1);
            float *pixel = &paper[y * DIGITS_SIDE + x];
            if (dark > *pixel) *pixel = dark;
        }
    }
}

// The curve through b and c of the points a, b, c, d, at t in [0, 1] (Catmull and Rom).
static point curve(const point *a, const point *b, const point *c, const point *d, float t)
{
    float t2 = t * t, t3 = t2 * t;
    float wa = 0.5f * (-t + 2 * t2 - t3), wb = 0.5f * (2 - 5 * t2 + 3 * t3);
    float wc = 0.5f * (t + 4 * t2 - 3 * t3), wd = 0.5f * (-t2 + t3);
    return (point){wa * a->x + wb * b->x + wc * c->x + wd * d->x,
                   wa * a->y + wb * b->y + wc * c->y + wd * d->y};
}

#define LINES_PER_POINT 4

static void draw_stroke(float *paper, const stroke *s, const hand *h, float jitter, rng *r)
{
    point p[STROKE_POINTS_MAX];
    for (int i = 0; i < s->count; i++) {
        point moved = {s->points[i].x + jitter * normal(r), s->points[i].y + jitter * normal(r)};
        p[i] = place(h, moved);
    }
    for (int i = 0; i + 1 < s->count; i++) {
        const point *before = &p[i > 0 ? i - 1 : 0], *after = &p[i + 2 < s->count ? i + 2 : i + 1];
        point from = p[i];
        for (int k = 1; k <= LINES_PER_POINT; k++) {
            point to = curve(before, &p[i], &p[i + 1], after, (float)k / LINES_PER_POINT);
            draw_line(paper, from, to, h->ink);
            from = to;
        }
    }
}

int digits_draw(const digits_style *style, uint64_t number, uint8_t pixels[DIGITS_PIXELS])
{
    rng r = {style->seed * 0xd1342543de82ef95u + number};
    next(&r);
    int digit = (int)(next(&r) % 10);
    const digit_forms *forms = &model[digit];
    const form *f = &forms->forms[next(&r) % (uint64_t)forms->count];
    hand h = take_hand(style, &r);

    float paper[DIGITS_PIXELS] = {0};
    for (int i = 0; i < f->count; i++)
        draw_stroke(paper, &f->strokes[i], &h, style->jitter, &r);
    for (int i = 0; i < DIGITS_PIXELS; i++)
        pixels[i] = (uint8_t)clamp(paper[i] * 255 + style->noise * normal(&r), 0, 255);
    return digit;
}
