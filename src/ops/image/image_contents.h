// Shared by ops that decode images: the file in input 0, and its format.
#ifndef BD_OPS_IMAGE_IMAGE_CONTENTS_H
#define BD_OPS_IMAGE_IMAGE_CONTENTS_H

#include "io/image.h"
#include "op/kernel.h"

typedef enum bd_image_format {
    BD_IMAGE_NONE,
    BD_IMAGE_PNG,
    BD_IMAGE_JPEG,
    BD_IMAGE_GIF,
    BD_IMAGE_BMP
} bd_image_format;

// By how the file begins.
bd_image_format bd_image_format_of(bd_image_file file);

// The scalar string in input 0. False: the kernel has failed.
bool bd_image_contents(bd_op_ctx *c, bd_image_file *file);

#endif
