// GIF images and animations.
#ifndef BD_IO_GIF_H
#define BD_IO_GIF_H

#include "io/image.h"

// Decodes all frames to RGB. A frame that covers a part of the image only shows the one before it elsewhere
// (the first: black); transparent pixels are drawn in their color.
braid_code bd_gif_decode(bd_image_file file, const bd_image_sink *sink, braid_status *st);

#endif
