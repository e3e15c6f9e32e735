// Command-line flags.
#include "flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void print_default(const flag *f)
{
    switch (f->kind) {
    case FLAG_INT: printf("%lld", (long long)*(int64_t *)f->value); break;
    case FLAG_FLOAT: printf("%g", *(double *)f->value); break;
    case FLAG_BOOL: printf("%s", *(bool *)f->value ? "true" : "false"); break;
    case FLAG_STRING: printf("\"%s\"", *(const char **)f->value); break;
    }
}

static void print_help(const char *program, const char *about, const flag *flags, int count)
{
    printf("Usage: %s [--flag=value ...]\n\n%s\n\nFlags (defaults in brackets):\n", program, about);
    for (int i = 0; i < count; i++) {
        printf("  --%s [", flags[i].name);
        print_default(&flags[i]);
        printf("]\n      %s\n", flags[i].help);
    }
    printf("  --help\n      Print this and exit.\n");
}

static bool parse_bool(const char *text, bool *out)
{
    static const char *const words[] = {"false", "true", "0", "1", "no", "yes", "f", "t"};
    for (int i = 0; i < 8; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *out = i % 2;
            return true;
        }
    }
    return false;
}

// Stores a value; reports an error for one that is invalid.
static bool set_flag(const char *program, flag *f, const char *text)
{
    static const char *const kinds[] = {"a whole number", "a number", "true or false", "a text"};
    char *end = NULL;
    bool ok = true;
    errno = 0;
    if (f->kind == FLAG_INT) {
        int64_t value = strtoll(text, &end, 10);
        ok = *text && !*end && !errno;
        if (ok) *(int64_t *)f->value = value;
    } else if (f->kind == FLAG_FLOAT) {
        double value = strtod(text, &end);
        ok = *text && !*end && !errno;
        if (ok) *(double *)f->value = value;
    } else if (f->kind == FLAG_BOOL) {
        ok = parse_bool(text, f->value);
    } else {
        *(const char **)f->value = text;
    }
    if (!ok) fprintf(stderr, "%s: --%s needs %s, not '%s'\n", program, f->name, kinds[f->kind], text);
    f->given = true;
    return ok;
}

// How many letters must change to turn a into b (Levenshtein), for names of at most 63.
static int distance(const char *a, const char *b)
{
    int row[64], n = (int)strlen(b);
    if (n > 63) return 64;
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            int shorter = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            row[j] = change < shorter ? change : shorter;
        }
    }
    return row[n];
}

static void unknown_flag(const char *program, const char *name, const flag *flags, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++) {
        if (distance(name, flags[i].name) < distance(name, flags[best].name)) best = i;
    }
    fprintf(stderr, "%s: unknown flag --%s", program, name);
    if (distance(name, flags[best].name) <= 3) fprintf(stderr, "; did you mean --%s?", flags[best].name);
    fprintf(stderr, " (--help lists all)\n");
}

static flag *find_flag(const char *name, flag *flags, int count)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(flags[i].name, name) == 0) return &flags[i];
    }
    return NULL;
}

// One argument; `next` is the one after it or NULL. Returns how many were used, 0 on an error.
static int parse_one(const char *program, const char *argument, const char *next, flag *flags, int count)
{
    if (strncmp(argument, "--", 2) != 0) {
        fprintf(stderr, "%s: '%s' is no flag: flags are given as --name=value (--help lists them)\n", program,
                argument);
        return 0;
    }
    char name[64];
    const char *equals = strchr(argument, '=');
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - argument - 2) : 63, argument + 2);
    flag *f = find_flag(name, flags, count);
    if (f && equals) return set_flag(program, f, equals + 1);
    if (f && f->kind == FLAG_BOOL) {
        bool value;
        return next && parse_bool(next, &value) ? 2 * set_flag(program, f, next)
                                                : set_flag(program, f, "true");
    }
    if (f && next) return 2 * set_flag(program, f, next);
    if (f) {
        fprintf(stderr, "%s: --%s needs a value: --%s=...\n", program, name, name);
        return 0;
    }
    flag *negated = strncmp(name, "no", 2) == 0 && !equals ? find_flag(name + 2, flags, count) : NULL;
    if (negated && negated->kind == FLAG_BOOL) return set_flag(program, negated, "false");
    unknown_flag(program, name, flags, count);
    return 0;
}

flags_result flags_parse(int argc, char **argv, const char *about, flag *flags, int count)
{
    const char *slash = strrchr(argv[0], '/'), *program = slash ? slash + 1 : argv[0];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(program, about, flags, count);
            return FLAGS_HELP;
        }
    }
    for (int i = 1; i < argc;) {
        int used = parse_one(program, argv[i], i + 1 < argc ? argv[i + 1] : NULL, flags, count);
        if (used == 0) return FLAGS_ERROR;
        i += used;
    }
    return FLAGS_OK;
}
