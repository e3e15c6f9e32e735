// Regular expressions in RE2's syntax, as in TensorFlow: matching takes time linear in the text for every
// pattern.
#ifndef BD_OPS_STRING_REGEX_H
#define BD_OPS_STRING_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bd_regex bd_regex;

// Compiles a pattern. Returns NULL when it is malformed: `why` describes the mistake.
#define BD_REGEX_WHY_MAX 256
bd_regex *bd_regex_new(const char *pattern, size_t len, char why[BD_REGEX_WHY_MAX]);
void bd_regex_free(bd_regex *r); // NULL is accepted

// Whether the pattern matches the whole text. Any thread.
bool bd_regex_matches(const bd_regex *r, const char *text, size_t len);

// Replaces the first match, or all; `\1` of the rewrite is the first group of the match. A malformed rewrite
// leaves the text unchanged. Calls `put(arg, data, len)` once with the result, and returns its return value;
// false too when memory is short (then `put` is not called). Any thread.
bool bd_regex_replace(const bd_regex *r, const char *text, size_t len, const char *rewrite,
                      size_t rewrite_len, bool all, bool (*put)(void *arg, const char *data, size_t len),
                      void *arg);

#ifdef __cplusplus
}
#endif

#endif
