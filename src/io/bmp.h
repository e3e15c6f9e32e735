// BMP images.
#ifndef BD_IO_BMP_H
#define BD_IO_BMP_H

#include "io/image.h"

// Decodes an uncompressed image of 8, 24 or 32 bits a pixel to as many channels. `channels` is the requested
// number, or 0. Pixels of 8 bits are taken without the palette.
braid_code bd_bmp_decode(bd_image_file file, int channels, const bd_image_sink *sink, braid_status *st);

#endif
