# Writes the bytes of file IN as a C array, bd_proto_descriptors, to OUT.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(.......................................................................[,])" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "// Generated. A FileDescriptorSet.
#include <stddef.h>
#include <stdint.h>
extern const uint8_t bd_proto_descriptors[];
extern const size_t bd_proto_descriptors_len;
const uint8_t bd_proto_descriptors[] = {
${bytes}
};
const size_t bd_proto_descriptors_len = sizeof bd_proto_descriptors;
")
