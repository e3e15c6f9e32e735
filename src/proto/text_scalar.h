// Values of protobuf's text format that are one token (or two, with a sign): numbers, truth values,
// enumerators.
#ifndef BD_PROTO_TEXT_SCALAR_H
#define BD_PROTO_TEXT_SCALAR_H

#include "proto/text_lexer.h"
#include <protobuf-c/protobuf-c.h>

// Reads a value of a field that is neither a string nor a message, and moves past it: the 64, or for types of
// 32 bits the lower 32, bits of its wire format (a varint's value; zigzag done). InvalidArgument, naming the
// field, for a value of another kind or out of range.
braid_code bd_text_scalar(bd_text_lexer *lexer, const ProtobufCFieldDescriptor *field, uint64_t *bits);

// InvalidArgument: the current token is not what the field takes.
braid_code bd_text_expected(const bd_text_lexer *lexer, const ProtobufCFieldDescriptor *field,
                            const char *what);

#endif
