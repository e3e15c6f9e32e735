#!/usr/bin/env bash
# Rules of the project that a search can check.
set -u
cd "$(dirname "$0")/.."
failures=0

# forbid WHY PATTERN FILE...: no line of the files matches, but for memory that a public function gives to its
# caller to free() and that says so.
forbid() {
    local why=$1 pattern=$2 found
    shift 2
    found=$(grep -nE "$pattern" "$@" /dev/null | grep -v "// the caller's, by free()")
    if [ -n "$found" ]; then
        printf '%s\n  -> %s\n' "$found" "$why"
        failures=$((failures + 1))
    fi
}

mapfile -t all < <(find src include python examples tests bench cmake -name '*.[ch]' | sort)
mapfile -t outside_base < <(find src -name '*.[ch]' -not -path 'src/base/*' | sort)
mapfile -t product < <(printf '%s\n' "${outside_base[@]}" | grep -v '_test\.c$') # tests free what getline gives

for file in "${all[@]}"; do
    if ! head -n 1 "$file" | grep -q '^// [A-Z`"0-9a-z].*'; then
        echo "$file: line 1 does not say what the file is for"
        failures=$((failures + 1))
    fi
done
forbid "finish it before it lands" '\b(TODO|FIXME|XXX)\b' "${all[@]}"
forbid "wait for an event instead" '(^|[^a-zA-Z0-9_>.])(sleep|usleep|nanosleep|clock_nanosleep)\(' "${all[@]}"
forbid "threads and clocks come from src/base" \
    '(^|[^a-zA-Z0-9_])(pthread_[a-z]+_[a-z]+|pthread_create|clock_gettime|gettimeofday|getrandom)\(' "${outside_base[@]}"
forbid "memory comes from src/base/alloc.h" \
    '(^|[^a-zA-Z0-9_>.])(malloc|calloc|realloc|free|strdup|strndup|asprintf|aligned_alloc|posix_memalign)\(' \
    "${product[@]}"
mapfile -t ops < <(printf '%s\n' "${product[@]}" | grep -E '^src/(op|ops|kernels)/' | grep -v '^src/ops/testing/')
forbid "kernels use files through bd_op_fs or bd_iterator_fs, so that a server can refuse them" \
    'bd_fs_(current|posix|within)|braid_(latest_)?checkpoint[a-z_]*\(|(^|[^a-zA-Z0-9_>.])(f?open|openat|creat|freopen|opendir|l?stat|access|unlink|remove|rename|mkdir|rmdir|readlink|realpath|glob|ftw|nftw|mkstemp|mkdtemp|tmpfile|popen|dlopen|chmod|chown|truncate|s?symlink|link)\(' \
    "${ops[@]}"
forbid "this header opens files without asking which are allowed" \
    '#include ["<](dirent\.h|fcntl\.h|ftw\.h|glob\.h|sys/stat\.h|fstream|braid/(checkpoint|checkpoint_reader|records|events)\.h)' \
    "${ops[@]}"

# Lines fit into 110 columns. String literals, what `clang-format off` covers and the padding of macros do not count.
mapfile -t lines < <(git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.hpp' '*.cc' '*.py' '*.sh' '*.cmake' dev .ci/run CMakeLists.txt |
    grep -vE '^tests/(golden|fuzz/corpus)/')
long=$(awk '
    FNR == 1 { is_off = 0 }
    /clang-format off/ { is_off = 1 }
    /clang-format on/ { is_off = 0 }
    length($0) > 110 && !is_off {
        line = $0
        gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
        gsub(/\047([^\047\\]|\\.)*\047/, "\047\047", line)
        sub(/[ \t]*\\$/, "", line)
        if (length(line) > 110) print FILENAME ":" FNR ": " length($0) " columns"
    }' "${lines[@]}")
if [ -n "$long" ]; then
    printf '%s\n  -> break the line: 110 columns\n' "$long"
    failures=$((failures + 1))
fi

# A macro of more than 30 lines with statements is a template header instead (X_loops.h), which debuggers and
# readers can step through.
long=$(awk '
    FNR == 1 { lines = 0 }
    /^#define.*\\$/ && lines == 0 { name = $2; start = FNR; has_code = 0 }
    /\\$/ { lines++; if (/;[ \t]*\\$/) has_code = 1; next }
    { if (lines > 30 && has_code) print FILENAME ":" start ": macro " name " has " lines + 1 " lines"; lines = 0 }
    ' "${all[@]}")
if [ -n "$long" ]; then
    printf '%s\n  -> move the body to a template header, which is included once for each type\n' "$long"
    failures=$((failures + 1))
fi

[ $failures = 0 ] && echo "${#all[@]} files keep the rules"
[ $failures = 0 ]
