# Writes the bytes of file IN as a C array, NAME and NAME_len, to OUT.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(.......................................................................[,])" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "// Generated from ${IN}.
#include <stddef.h>
#include <stdint.h>
extern const uint8_t ${NAME}[];
extern const size_t ${NAME}_len;
const uint8_t ${NAME}[] = {
${bytes}
};
const size_t ${NAME}_len = sizeof ${NAME};
")
