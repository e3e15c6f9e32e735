// Tests of decoders of images.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "ops/testing/image_files.h"
#include "ops/testing/image_op.h"
#include "ops/testing/op_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

// The pixels of jpeg_rgb, by the accurate transform.
#define JPEG_RGB_PIXELS                                                                                      \
    "3b3c343c3d35403d36433e384740384b403a5140395440395b3f3b5e3f3a623f3967403b69403a6d423c71413d73423e"       \
    "743c3d793d3f7c3e41813f43843e463d3e363d3e364040384340374841394c423950413a55413a5a413c5e413b63403c"       \
    "67423c6b423e6e433d71443f74433f77413f7b41407f41428343448742473e41363f423741433844443a49453c4d443b"       \
    "52453d57443d5c453f5f443d65443f67443e6c45407145427246437646427b46428046448347468649488a484a3e4639"       \
    "40463843463b46483b4b493d4e4a3f53493f5749405d49426047426548426948436e4845714a45734a48774a477c4945"       \
    "804b45854b47884d498a4d4c404b3b414c3b444c3d474e3e4b4d3f504e41544e42574d435e4d45614d46674b476b4c49"       \
    "6f4d4b714e4a754f4e784f4d7c4c487f4e49844f4b87504d8b4f4e41503b42513c44513d49523f4c5341505244555346"       \
    "5852465e514862514967504a6c504d6f514f7253517652527953527c504f7f524f8452518754538b53543e553b41553c"       \
    "43553d47563f4b57415057455457465856495e564b62554d66554e6a55526e54537256557555567856577e555b80555c"       \
    "85565c89585e8b585d3e593a3e593a415a3c45593e4a5a404e5a445259475659485c584d60574e6457516957556d5857"       \
    "70575a73595c76575d7e5865825967855b69885c698c5c683d5f3a3f5f3a42603e45603f4960434e6046526049565f4c"       \
    "5e6053615e55665f59695e5c6e5e5f735f61755e64785e697d5c6f815b74835c71865c708a5d713e643b3f653c42653d"       \
    "4666414a65444e654852644c56634f5e645662645966635e6b63616e626472636874636978626f7e607881607d83617a"       \
    "87617a8a63783f6a3d406b3e446b3f476c43496b484e6b4c536a505769535f6a5a63695d6768626c68656e686a73686e"       \
    "75686f78687580688284678585678189677f8c697d3e6e3c406e3f436e40466f434a70494d6f4c546e51576d565f6d5c"       \
    "626c61666b656b6b69706b6f726b72766c74786c7a816e84846c86866d83896c808c6d7c3e703b3f713c427240447243"       \
    "4972484e724e5271525670575d705d616f62676e67696d6c6e6d72716e75746e78786d7b817082826f8285717d877078"       \
    "8a71743f743c40753d4176404676464a75484d764e5273545672595d746062726566716b6b71716f707472717974717c"       \
    "78707d80748083737d84747786747288746942793f437a41457a44497b484c7a4c507a5255785759775d60796465776b"       \
    "69766f6d767571747975757d7775807b757f81787d83777785787286786b897962417f40437f43457f45497f4b4c8050"       \
    "507f55557f5b587c60607d67647c6e677b706c7b76717b7a737b7d777c807a7c7b827e73857e6b857d66877d62887e5b"       \
    "3b803d3c813e4082444382494884504c845751835d5582635a82685f826e6382726984756c84776e8478708479768371"       \
    "797d587f7e508180528382548582553d863f3e874241864544884b4988534d885851886155866659856a5d856d628571"       \
    "6687746b88766c89776f877773876b7b835281854883864d848750888854408942418a45458a49478b4e4d8c57518c5c"       \
    "558c65598a6a5b876c5f876f6487736889766d8a786e8b7971897975896d7f875684884b868950888b548b8b57"

// ---- Running an op ----

static int digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static size_t unhex(const char *hex, uint8_t *out)
{
    size_t len = strlen(hex) / 2;
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
    return len;
}

// A scalar of the bytes; the caller ends it.
static void string_tensor(braid_tensor *t, const void *data, size_t len)
{
    BD_STATUS(st);
    bd_tensor_init(t, BRAID_STRING, &BD_SCALAR, st);
    assert_ok(st);
    bd_tensor_string_set(t, 0, data, len);
}

static braid_code decode(const char *op, const char *attrs, const void *data, size_t len, const char *second,
                         braid_tensor *out, braid_status *st)
{
    braid_tensor contents;
    string_tensor(&contents, data, len);
    braid_code code = image_op_run(op, attrs, &contents, second, out, st);
    bd_tensor_fini(&contents);
    return code;
}

// ---- Decoding ----

typedef struct decode_case {
    const char *op, *attrs, *file;
    const char *window; // of DecodeAndCropJpeg
    const char *form;   // type and shape of the output
    const char *want;   // its memory in hexadecimal, or the checksum of that
} decode_case;

static void check_samples(const braid_tensor *got, const char *want, const char *where)
{
    uint8_t bytes[4096];
    if (strncmp(want, "crc32 ", 6) == 0) {
        assert_int_equal(crc32(0, got->data, (unsigned)bd_tensor_bytes(got)), strtoul(want + 6, NULL, 16));
        return;
    }
    size_t len = unhex(want, bytes);
    if (len != bd_tensor_bytes(got)) fail_msg("%s: %zu bytes", where, bd_tensor_bytes(got));
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != ((const uint8_t *)got->data)[i])
            fail_msg("%s: byte %zu is %d, not %d", where, i, ((const uint8_t *)got->data)[i], bytes[i]);
    }
}

static void check_decoding(const decode_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const decode_case *c = &cases[i];
        BD_STATUS(st);
        uint8_t data[4096];
        braid_tensor got, form;
        char where[128];
        snprintf(where, sizeof where, "%s {%s} of case %zu", c->op, c->attrs ? c->attrs : "", i);
        decode(c->op, c->attrs, data, unhex(c->file, data), c->window, &got, st);
        if (st->code) fail_msg("%s: %s", where, braid_status_message(st));
        char *text = bd_asprintf("%s 0", c->form);
        op_test_tensor(&form, text);
        bd_free(text);
        assert_int_equal(got.dtype, form.dtype);
        if (!bd_shape_equal(&got.shape, &form.shape)) fail_msg("%s: another shape", where);
        check_samples(&got, c->want, where);
        bd_tensor_fini(&form);
        bd_tensor_fini(&got);
    }
}

// Samples were computed by Pillow, which has the accurate transform of libjpeg, or are those that the files
// were made from.
static void png_files_decode(void **state)
{
    (void)state;
    static const decode_case cases[] = {
        {"DecodePng", NULL, png_rgb, NULL, "uint8[3,4,3]",
         "6a98f983b8c80015fd93ca6bf9a98a9577a6e094ac5da78ef81a51da964202bf3c81b35a"},
        {"DecodePng", "channels=4", png_rgb, NULL, "uint8[3,4,4]",
         "6a98f9ff83b8c8ff0015fdff93ca6bfff9a98aff9577a6ffe094acff5da78efff81a51ffda9642ff02bf3cff81b35aff"},
        {"DecodePng", "dtype=uint16", png_rgb, NULL, "uint16[3,4,3]",
         "6a6a9898f9f98383b8b8c8c800001515fdfd9393caca6b6bf9f9a9a98a8a95957777a6a6e0e09494acac5d5da7a78e8e"
         "f8f81a1a5151dada969642420202bfbf3c3c8181b3b35a5a"},
        {"DecodePng", "dtype=uint16", png_gray16, NULL, "uint16[2,3,1]", "455e681b6e1261769d196aa6"},
        {"DecodePng", NULL, png_gray16, NULL, "uint8[2,3,1]", "5e1b127619a6"},
        {"DecodePng", "channels=3; dtype=uint16", png_gray16, NULL, "uint16[2,3,3]",
         "455e455e455e681b681b681b6e126e126e126176617661769d199d199d196aa66aa66aa6"},
        {"DecodePng", NULL, png_gray_alpha, NULL, "uint8[2,2,2]", "98fb3e07f8ab217b"},
        {"DecodePng", "channels=1", png_gray_alpha, NULL, "uint8[2,2,1]", "983ef821"},
        {"DecodePng", "channels=4", png_gray_alpha, NULL, "uint8[2,2,4]", "989898fb3e3e3e07f8f8f8ab2121217b"},
        {"DecodePng", NULL, png_gray2, NULL, "uint8[1,3,1]", "0055ff"},
        {"DecodePng", NULL, png_palette, NULL, "uint8[1,3,3]", "0a141e46505a28323c"},
        {"DecodePng", NULL, png_palette_alpha, NULL, "uint8[1,3,4]", "0a141e0546505aff28323c06"},
        {"DecodePng", "channels=3", png_palette_alpha, NULL, "uint8[1,3,3]", "0a141e46505a28323c"},
        {"DecodePng", NULL, png_rgba, NULL, "uint8[1,2,4]", "4fb025145e31957f"},
        {"DecodePng", "channels=3", png_rgba, NULL, "uint8[1,2,3]", "4fb0255e3195"},
        {"DecodePng", NULL, png_interlaced, NULL, "uint8[9,9,1]",
         "cef41c773600c0e91274bfa5b8b8c7a5fdae217101557577caeb7ce463db90ff50a090f2124bb760df8da59e30bd2134"
         "f1fcf2029c245ae8acb03bcab6f0e45bf115713868271da0b00921eff7bcd8370b"},
    };
    check_decoding(cases, BD_COUNTOF(cases));
}

static void jpeg_files_decode(void **state)
{
    (void)state;
    static const decode_case cases[] = {
        {"DecodeJpeg", NULL, png_rgb, NULL, "uint8[3,4,3]",
         "6a98f983b8c80015fd93ca6bf9a98a9577a6e094ac5da78ef81a51da964202bf3c81b35a"},
        {"DecodeJpeg", "dct_method=INTEGER_ACCURATE", jpeg_rgb, NULL, "uint8[19,21,3]", JPEG_RGB_PIXELS},
        {"DecodeAndCropJpeg", "dct_method=INTEGER_ACCURATE", jpeg_rgb, "int32[4] 0 0 19 21", "uint8[19,21,3]",
         JPEG_RGB_PIXELS},
        {"DecodeJpeg", "dct_method=INTEGER_ACCURATE", jpeg_progressive, NULL, "uint8[19,21,3]",
         "3e3f393f3e39443f3b483e3c4c3e3d523e3f563d40573e415b3d3b5c3d3b603c3c653d3e693c3f6f3c41713c42733c42"
         "7e3d397f3e3a833f3c86403e8a403f3e413840413944413a48413b4e403d52403e55403f5840405b3f3c5d3f3d613f3e"
         "653e3f693f416f3e42713e43733e447f3f3d80403e8342408642418941423d45383f453943453a48453c4d443d51443e"
         "5644405744405b433f5d44406143416543426b43446f42457342467542477f43438143448545468745478a45483e4b3a"
         "3f4a3a43493b484a3d4c4a3e5249405649415649415c49435e49446249456648466b494870484972484a75484b7f474a"
         "81494c854a4e874a4f8b4a503e4f3c3e4f3c424f3d484f3f4c4e40514f42554f43564e435c4f475e4f48624f49664e4a"
         "6c4e4c704e4d744d4e764e4f804d54824d55864e57884f588b4f593d553d3e543d43553f4754404c5341515443555344"
         "5754455d544b5f554c63544d67544e6d545071535175535277535380515b84525d86545f8953608c54613c593d3f593e"
         "42593f4658404c58425058435457445657455d594e60594f6359506758516d5853715854755755775856805461845663"
         "8656648a57668c57673d5a3e3e5b3f425a40485a424c5a43505944555a465659465e5c505f5b50635a51685b536d5a54"
         "725a56765a577759578157658357668758688a5a6a8c596a3b5f393d5f3c415e3f4760434d5f47525f4b57604f585f4f"
         "595f535c5f545f5f57645f5b6a605f705f65735f687560697f605d7f5f64835f6d865f748a5f733b613a3d613b42613f"
         "4762434d614852614c5661505962515961545b615560615965625d6a626070616673626a76626b806264816268836172"
         "8761788c627a3b663b3c653b41653f4665434c654852664d5665505865515965575b665860665c6566606b6663706569"
         "75666d77666e82676e84667286657a89657f8c65823b6a3c3c6a3c416a40466a444c6a48526b4e566a51586a525a6b5b"
         "5d6b5c616b60666b646b6c67716b6d756c71776c72846c7a846c7c876c7f896c828d6b843b6f3e3e703f406f41477046"
         "4c704a51704e5671525770535a715f5c71606171646672686c716b71717176717578727683718185707f87717e88717b"
         "8b717a3a753d3c75404074434675474c754b51754f5675535774555b76635e776462776867776c6d776f727675777779"
         "79777a82738684747f84767687766c8978663b783d3d78404079444779484b794b50794f5579535779565b7b665e7b67"
         "637b6b677b6f6e7b72727b78777b7c7a7b7d81768782777d83796d847b5c857d4f3b7b3f3d7a3f407b43467a494b7a4c"
         "517c51557b54577b555c7d685e7e69627d6c677d706e7e74737e7a777d7d797d7e7f768781787b827b68827e51848041"
         "36863d3986403d854341854a4985514d855851845b54845e5783725a87685f89656487716884876d808f6e82836f8473"
         "777f437b80467d824a82824e85835238883f3a87413f874543874c4a86524f875a53865d5686605986725b8869618b67"
         "6689756a868a6f82907084827086717b83477f844a81864e8787538987563a8a413d8a44428a48468a4f4d895551895c"
         "5689605989635b88735e8b6c638c6a698b7a6c888c728691728780738a6d80884c83884e868b538b8b578e8c5b"},
        {"DecodeAndCropJpeg", "dct_method=INTEGER_ACCURATE", jpeg_progressive, "int32[4] 2 5 6 9",
         "uint8[6,9,3]",
         "51443e5644405744405b433f5d44406143416543426b43446f42455249405649415649415c49435e4944624945664846"
         "6b4948704849514f42554f43564e435c4f475e4f48624f49664e4a6c4e4c704e4d5154435553445754455d544b5f554c"
         "63544d67544e6d54507153515058435457445657455d594e60594f6359506758516d5853715854505944555a46565946"
         "5e5c505f5b50635a51685b536d5a54725a56"},
        {"DecodeAndCropJpeg", "dct_method=INTEGER_ACCURATE", jpeg_progressive, "int32[4] 0 12 19 9",
         "uint8[19,9,3]",
         "693c3f6f3c41713c42733c427e3d397f3e3a833f3c86403e8a403f693f416f3e42713e43733e447f3f3d80403e834240"
         "8642418941426b43446f42457342467542477f43438143448545468745478a45486b494870484972484a75484b7f474a"
         "81494c854a4e874a4f8b4a506c4e4c704e4d744d4e764e4f804d54824d55864e57884f588b4f596d5450715351755352"
         "77535380515b84525d86545f8953608c54616d58537158547557557758568054618456638656648a57668c57676d5a54"
         "725a56765a577759578157658357668758688a5a6a8c596a6a605f705f65735f687560697f605d7f5f64835f6d865f74"
         "8a5f736a626070616673626a76626b8062648162688361728761788c627a6b666370656975666d77666e82676e846672"
         "86657a89657f8c65826b6c67716b6d756c71776c72846c7a846c7c876c7f896c828d6b846c716b717171767175787276"
         "83718185707f87717e88717b8b717a6d776f72767577777979777a82738684747f84767687766c8978666e7b72727b78"
         "777b7c7a7b7d81768782777d83796d847b5c857d4f6e7e74737e7a777d7d797d7e7f768781787b827b68827e51848041"
         "6884876d808f6e82836f8473777f437b80467d824a82824e8583526a868a6f82907084827086717b83477f844a81864e"
         "8787538987566c888c728691728780738a6d80884c83884e868b538b8b578e8c5b"},
    };
    check_decoding(cases, BD_COUNTOF(cases));
}

static void jpeg_colors_and_ratios_are_converted(void **state)
{
    (void)state;
    static const decode_case cases[] = {
        {"DecodeJpeg", "dct_method=INTEGER_ACCURATE", jpeg_gray, NULL, "uint8[19,21,1]",
         "3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f"
         "54585c6064686b6f73777d8085898c3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f54585c606468"
         "6b6f73777d8085898c3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f54585c6064686b6f73777d80"
         "85898c3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f54585c6064686b6f73777d8085898c3d4045"
         "494c4f54585c6064686b6f73777d8085898c3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f54585c"
         "6064686b6f73777d8085898c3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f54585c6064686b6f73"
         "777d8085898c3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f54585c6064686b6f73777d8085898c"
         "3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f54585c6064686b6f73777d8085898c3d4045494c4f"
         "54585c6064686b6f73777d8085898c"},
        {"DecodeJpeg", "dct_method=INTEGER_ACCURATE; channels=3", jpeg_gray, NULL, "uint8[19,21,3]",
         "3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c6060606464646868686b6b6b6f6f6f737373777777"
         "7d7d7d8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c606060646464"
         "6868686b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f"
         "5454545858585c5c5c6060606464646868686b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c3d3d3d"
         "4040404545454949494c4c4c4f4f4f5454545858585c5c5c6060606464646868686b6b6b6f6f6f7373737777777d7d7d"
         "8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c606060646464686868"
         "6b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f545454"
         "5858585c5c5c6060606464646868686b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c3d3d3d404040"
         "4545454949494c4c4c4f4f4f5454545858585c5c5c6060606464646868686b6b6b6f6f6f7373737777777d7d7d808080"
         "8585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c6060606464646868686b6b6b"
         "6f6f6f7373737777777d7d7d8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f545454585858"
         "5c5c5c6060606464646868686b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c3d3d3d404040454545"
         "4949494c4c4c4f4f4f5454545858585c5c5c6060606464646868686b6b6b6f6f6f7373737777777d7d7d808080858585"
         "8989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c6060606464646868686b6b6b6f6f6f"
         "7373737777777d7d7d8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c"
         "6060606464646868686b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c3d3d3d404040454545494949"
         "4c4c4c4f4f4f5454545858585c5c5c6060606464646868686b6b6b6f6f6f7373737777777d7d7d808080858585898989"
         "8c8c8c3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c6060606464646868686b6b6b6f6f6f737373"
         "7777777d7d7d8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c606060"
         "6464646868686b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c"
         "4f4f4f5454545858585c5c5c6060606464646868686b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c"
         "3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c6060606464646868686b6b6b6f6f6f737373777777"
         "7d7d7d8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f5454545858585c5c5c606060646464"
         "6868686b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c3d3d3d4040404545454949494c4c4c4f4f4f"
         "5454545858585c5c5c6060606464646868686b6b6b6f6f6f7373737777777d7d7d8080808585858989898c8c8c"},
        {"DecodeJpeg", "dct_method=INTEGER_ACCURATE; channels=1", jpeg_rgb, NULL, "uint8[19,21,1]",
         "3b3c3d3f414344454748494b4c4e4f504d4f5153543d3d3f404244454648494a4c4e4f515151525456573f4041434546"
         "48494b4b4d4e505253545557595b5c42434446484a4b4c4e4e505153555657585a5c5e5f4647484a4b4d4e4f51525355"
         "57585a5b5a5c5e6061494a4b4d4f505252545556585a5c5d5e5d5f6163644b4c4d4f515354555758595b5c5e5f606263"
         "6567684d4d4f505254555658595a5c5e5f61616567696b6c515153545658595a5e5e60616365666768696a6b6d545556"
         "58595b5c5d616263656668696a6c6d6e6f7158595a5c5d5f6061656667696a6c6d6e72737374765a5b5c5e6061636467"
         "68696b6d6e707176767777785b5c5e5f6163646568696b6c6e70717277777878795e5f6062636566676b6c6d6f707273"
         "7479797979796263646667696a6b6f707173747677787b7b7b7b7b656667696b6c6e6e7273747678797b7b7e7e7d7d7d"
         "646567696c6e70717375777a7b7c7d7d78797b7d7e68696a6d6f7173747576787b7d7e7e7e7b7d7f80826b6c6e707375"
         "777877787a7d7f8080807f80828485"},
        {"DecodeJpeg", "dct_method=INTEGER_ACCURATE; ratio=2", jpeg_rgb, NULL, "uint8[10,11,3]",
         "3c3d35423f384a413a53403a5d403a65403a6d423c72423e793e40803f438740483e443844463b4b473c55473e5e4540"
         "6746417047437448457f4843854a468b494a414e3c464f3e4e5042565044604f476a4e4a714f4d7751507f504a84514d"
         "8c504f3e573a44583d4d59435558475f564d6755517056577557598056608759638d5a633e633a43633e4c634654614d"
         "60625568605d7161647661687f5c7a855f788b60743e6c3d446d414b6d4a556c52606b5d696a65706a6e766b73826989"
         "8769838d6b7c3e733b4375424b744a5472565f7161696f6d706f7576707c8271818572788a736b427c41477c464f7c51"
         "577a5a637a6a6c777374777e797784847a78867a6c8b7b5a3b843d4186474987545286625a846c6485726b88766e8676"
         "7e824582854c868654418a43468b4c4e8c59588c685d876f6788756e8b79728a7a84884b878a518c8c5a"},
        {"DecodeJpeg", "dct_method=INTEGER_ACCURATE", jpeg_cmyk, NULL, "uint8[8,8,3]",
         "071419939bae027c39071613af4108fbe7411e1751031302261508b505883d7d725d55591a709459b03d5118001591b5"
         "b95d00584c684d390022244359637d3c83a3618e1b48647fa12d9c0419002e6c962b021d84941a0c411d0c030b3aa828"
         "2a4242142406b1a1261e140009111656173819410c4a000922610c390e020f06005f369abe312258bba856a9c3200738"
         "2f60272c0f6e4e3bb2120c1b9e7726933589000706729689bc295000010070aa9277528066060c100208e5cfa2891276"},
    };
    check_decoding(cases, BD_COUNTOF(cases));
}

static void gif_and_bmp_files_decode(void **state)
{
    (void)state;
    static const decode_case cases[] = {
        {"DecodeGif", NULL, gif_0, NULL, "uint8[1,6,7,3]",
         "7d71e7a9c6db2da041dfc7e0c3d7fd19731acee5964c0b1ee14ff583462e2ff88e4b05d6cf77d0bca2c12632bb121dbf"
         "7d71e7a9c6db2da041dfc7e0c3d7fd19731acee5964c0b1ee14ff583462e2ff88e4b05d6cf77d0bca2c12632bb121dbf"
         "7d71e7a9c6db2da041dfc7e0c3d7fd19731acee5964c0b1ee14ff583462e"},
        {"DecodeGif", NULL, gif_1, NULL, "uint8[1,6,7,3]",
         "7d71e7a9c6db2da041dfc7e0c3d7fd19731acee5964c0b1ee14ff583462e2ff88e4b05d6cf77d0bca2c12632bb121dbf"
         "7d71e7a9c6db2da041dfc7e0c3d7fd19731acee5964c0b1ee14ff583462e2ff88e4b05d6cf77d0bca2c12632bb121dbf"
         "7d71e7a9c6db2da041dfc7e0c3d7fd19731acee5964c0b1ee14ff583462e"},
        {"DecodePng", NULL, gif_0, NULL, "uint8[6,7,3]",
         "7d71e7a9c6db2da041dfc7e0c3d7fd19731acee5964c0b1ee14ff583462e2ff88e4b05d6cf77d0bca2c12632bb121dbf"
         "7d71e7a9c6db2da041dfc7e0c3d7fd19731acee5964c0b1ee14ff583462e2ff88e4b05d6cf77d0bca2c12632bb121dbf"
         "7d71e7a9c6db2da041dfc7e0c3d7fd19731acee5964c0b1ee14ff583462e"},
        {"DecodeGif", NULL, gif_animation, NULL, "uint8[3,2,3,3]",
         "000000ff000000ff000000ff00ff00ff0000000000ff000000ff000000ff0000ff0000ff000000ff0000ff00000000ff"
         "0000ff0000ff"},
        {"DecodeGif", NULL, gif_corner, NULL, "uint8[1,2,2,3]", "000000ff00000000000000ff"},
        {"DecodeBmp", NULL, bmp_rgb, NULL, "uint8[2,3,3]", "34653171560565368100341974091a592d90"},
        {"DecodeBmp", "channels=3", bmp_top_down, NULL, "uint8[2,3,3]",
         "34653171560565368100341974091a592d90"},
        {"DecodeBmp", NULL, bmp_rgba, NULL, "uint8[2,1,4]", "095bac4523c72256"},
        {"DecodeBmp", "channels=1", bmp_gray, NULL, "uint8[2,3,1]", "4dbc8cbc81ad"},
        {"DecodeGif", NULL, gif_long, NULL, "uint8[1,40,60,3]", "crc32 37ad1db6"},
    };
    check_decoding(cases, BD_COUNTOF(cases));
}

static void decode_image_detects_the_format(void **state)
{
    (void)state;
    static const decode_case cases[] = {
        {"DecodeImage", NULL, gif_animation, NULL, "uint8[3,2,3,3]",
         "000000ff000000ff000000ff00ff00ff0000000000ff000000ff000000ff0000ff0000ff000000ff0000ff00000000ff"
         "0000ff0000ff"},
        {"DecodeImage", "expand_animations=false", gif_animation, NULL, "uint8[2,3,3]",
         "000000ff000000ff000000ff00ff00ff0000"},
        {"DecodeImage", NULL, bmp_rgb, NULL, "uint8[2,3,3]", "34653171560565368100341974091a592d90"},
        {"DecodeImage", "dtype=uint16", bmp_gray, NULL, "uint16[2,3,1]", "004d00bc008c00bc008100ad"},
        {"DecodeImage", "dtype=uint16", png_gray16, NULL, "uint16[2,3,1]", "455e681b6e1261769d196aa6"},
        {"DecodeImage", NULL, png_gray16, NULL, "uint8[2,3,1]", "5e1b127619a6"},
        {"DecodeImage", "dtype=float", png_gray2, NULL, "float[1,3,1]", "00000000abaaaa3e0000803f"},
    };
    check_decoding(cases, BD_COUNTOF(cases));
}

// The fast transform, which is the default, is close to the accurate one.
static void the_fast_transform_is_close(void **state)
{
    (void)state;
    BD_STATUS(st);
    uint8_t data[4096];
    braid_tensor fast, accurate;
    size_t len = unhex(jpeg_rgb, data);
    decode("DecodeJpeg", NULL, data, len, NULL, &fast, st);
    decode("DecodeJpeg", "dct_method=INTEGER_ACCURATE", data, len, NULL, &accurate, st);
    assert_ok(st);
    for (size_t i = 0; i < bd_tensor_bytes(&fast); i++)
        assert_true(abs(((uint8_t *)fast.data)[i] - ((uint8_t *)accurate.data)[i]) <= 6);
    bd_tensor_fini(&accurate);
    decode("DecodeImage", NULL, data, len, NULL, &accurate, st); // it takes the fast one, too
    assert_ok(st);
    assert_true(bd_shape_equal(&accurate.shape, &fast.shape));
    assert_memory_equal(accurate.data, fast.data, bd_tensor_bytes(&fast));
    bd_tensor_fini(&fast);
    bd_tensor_fini(&accurate);
}

static void extract_jpeg_shape_reads_the_header(void **state)
{
    (void)state;
    BD_STATUS(st);
    uint8_t data[4096];
    braid_tensor got;
    decode("ExtractJpegShape", NULL, data, unhex(jpeg_rgb, data), NULL, &got, st);
    assert_ok(st);
    op_test_expect(&got, "int32[3] 19 21 3", 0, "ExtractJpegShape");
    bd_tensor_fini(&got);
    decode("ExtractJpegShape", "output_type=int64", data, unhex(jpeg_gray, data), NULL, &got, st);
    assert_ok(st);
    op_test_expect(&got, "int64[3] 19 21 1", 0, "ExtractJpegShape");
    bd_tensor_fini(&got);
}

// ---- Truncated files ----

// Of a file cut in its middle: rows up to there, black ones, or copies of the last.
static void a_truncated_jpeg_is_recovered_on_request(void **state)
{
    (void)state;
    BD_STATUS(st);
    uint8_t data[4096];
    braid_tensor got, whole;
    size_t len = unhex(jpeg_gray, data);
    decode("DecodeJpeg", NULL, data, len, NULL, &whole, st);
    assert_ok(st);
    size_t cut = len - 10;
    assert_int_equal(decode("DecodeJpeg", NULL, data, cut, NULL, &got, st), BRAID_INVALID_ARGUMENT);
    assert_non_null(strstr(braid_status_message(st), "Invalid JPEG data or crop window"));
    braid_status_clear(st);
    decode("DecodeJpeg", "acceptable_fraction=0.2", data, cut, NULL, &got, st);
    assert_ok(st);
    assert_memory_equal(got.data, whole.data, 8 * 21); // the first row of blocks
    for (int i = 0; i < 21; i++)
        assert_int_equal(((uint8_t *)got.data)[18 * 21 + i], 0);
    bd_tensor_fini(&got);
    decode("DecodeJpeg", "try_recover_truncated=true", data, cut, NULL, &got, st);
    assert_ok(st);
    assert_memory_equal(got.data, whole.data, 8 * 21);
    bd_tensor_fini(&got);
    bd_tensor_fini(&whole);
}

// Every prefix of a file is refused with words, or decoded.
static void each_prefix_of_a_file_is_an_error(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"DecodePng", png_interlaced}, {"DecodePng", png_palette_alpha}, {"DecodeJpeg", jpeg_progressive},
        {"DecodeJpeg", jpeg_rgb},      {"DecodeGif", gif_animation},     {"DecodeGif", gif_1},
        {"DecodeBmp", bmp_rgb},        {"ExtractJpegShape", jpeg_gray},
    };
    for (size_t i = 0; i < BD_COUNTOF(files); i++) {
        uint8_t data[4096];
        size_t len = unhex(files[i][1], data);
        for (size_t cut = 0; cut <= len; cut++) {
            BD_STATUS(st);
            braid_tensor got = {0};
            uint8_t *copy = bd_memdup(data, cut); // so that a sanitizer sees its end
            braid_code code = decode(files[i][0], NULL, copy, cut, NULL, &got, st);
            bd_free(copy);
            if (code) assert_int_equal(code, BRAID_INVALID_ARGUMENT);
            if (cut == len) assert_ok(st);
            bd_tensor_fini(&got);
        }
    }
}

// ---- Errors ----

typedef struct error_case {
    const char *op, *attrs, *file, *second, *words;
} error_case;

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const error_case cases[] = {
        {"DecodePng", NULL, "", NULL, "Expected image (JPEG, PNG, or GIF), got empty file"},
        {"DecodePng", NULL, "00112233", NULL, "Expected image (JPEG, PNG, or GIF), got unknown format"},
        {"DecodePng", "channels=2", png_rgb, NULL, "channels must be 0, 1, 3, or 4, got 2"},
        {"DecodeImage", "channels=2", png_rgb, NULL, "`channels` must be 0, 1, 3 or 4 but got 2"},
        {"DecodeImage", NULL, "00", NULL, "Unknown image file format. One of JPEG, PNG, GIF, BMP required."},
        {"DecodeImage", "channels=1", gif_animation, NULL, "channels must be 0 or 3 for GIF, got 1"},
        {"DecodeImage", "channels=4", jpeg_rgb, NULL, "JPEG does not support 4 channels"},
        {"DecodeImage", "channels=1", bmp_gray, NULL, "`channels` must be 0, 3 or 4 for BMP, but got 1"},
        {"DecodeImage", NULL, "", NULL, "Input is empty."},
        {"DecodeImage", NULL, "424d", NULL, "Incomplete bmp content, requires at least 32 bytes"},
        {"DecodePng", "dtype=uint16", jpeg_gray, NULL, "JPEG does not support uint16 output"},
        {"DecodePng", NULL, "89504e470d0a1a0a00", NULL, "Invalid PNG header, data size 9"},
        // 2^27 pixels a row
        {"DecodePng", NULL, "89504e470d0a1a0a0000000d494844520800000000000001080000000028ec1ee2", NULL,
         "Invalid PNG header"},
        {"DecodeJpeg", "channels=4", jpeg_gray, NULL, "channels must be 0, 1, or 3 for JPEG, got 4"},
        {"DecodeJpeg", "ratio=3", jpeg_gray, NULL, "ratio must be 1, 2, 4, or 8, got 3"},
        {"DecodeJpeg", "dct_method=FAST", jpeg_gray, NULL, "dct_method must be one of"},
        {"DecodeJpeg", "channels=1", jpeg_cmyk, NULL, "Invalid JPEG data"},
        {"DecodeJpeg", NULL, gif_animation, NULL, "Got 3 frames, but animated gifs can only be decoded by"},
        {"DecodeJpeg", "channels=1", gif_0, NULL, "channels must be 0 or 3 for GIF, got 1"},
        {"DecodeAndCropJpeg", NULL, jpeg_gray, "int32[4] 0 0 20 21", "Invalid JPEG data or crop window"},
        {"DecodeAndCropJpeg", NULL, jpeg_gray, "int32[4] -1 0 2 2", "Invalid JPEG data or crop window"},
        {"DecodeAndCropJpeg", NULL, jpeg_gray, "int32[4] 2147483647 2147483647 2147483647 2147483647",
         "Invalid JPEG data or crop window"},
        {"DecodeAndCropJpeg", NULL, jpeg_gray, "int32[4] 0 0 0 2", "Invalid JPEG data or crop window"},
        {"DecodeAndCropJpeg", NULL, jpeg_gray, "int32[3] 0 0 2", "crop_size must have four elements"},
        {"DecodeAndCropJpeg", NULL, jpeg_gray, "int32[1,4] 0 0 2 2", "crop_window must be 1-D"},
        {"ExtractJpegShape", NULL, png_rgb, NULL, "Invalid JPEG data, size"},
        {"ExtractJpegShape", NULL, "", NULL, "Invalid JPEG data, size 0"},
        // no frame; a frame of 65535 x 65535; a color that is not in the table; a code that is not defined
        {"DecodeGif", NULL, "47494638396103000200810000000000ff000000ff000000ff3b", NULL,
         "not contain any image"},
        {"DecodeGif", NULL,
         "47494638396103000200810000000000ff000000ff000000ff2c00000000ffffffff00020144003b", NULL,
         "too large"},
        {"DecodeGif", NULL, "47494638396101000100800000000000ffffff2c00000000010001000002021c00003b", NULL,
         "color map"},
        {"DecodeGif", NULL, "47494638396101000100800000000000ffffff2c000000000100010000020237003b", NULL,
         "Invalid GIF data"},
        {"DecodeBmp", NULL, "424d", NULL, "Incomplete bmp content, requires at least 32 bytes"},
        {"DecodeBmp", "channels=4", bmp_rgb, NULL,
         "channels attribute 4 does not match bits per pixel from file 3"},
    };
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        const error_case *c = &cases[i];
        BD_STATUS(st);
        uint8_t data[4096];
        braid_tensor got = {0};
        braid_code code = decode(c->op, c->attrs, data, unhex(c->file, data), c->second, &got, st);
        if (code != BRAID_INVALID_ARGUMENT || !strstr(braid_status_message(st), c->words))
            fail_msg("%s, case %zu: %s", c->op, i, braid_status_message(st));
        bd_tensor_fini(&got);
    }
}

static void input_shapes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "DecodePng",
         .inputs = "string[1] a",
         .want = "InvalidArgument: contents must be scalar, got shape [1]"},
        {.op = "DecodePng",
         .inputs = "string[0]",
         .want = "InvalidArgument: contents must be scalar, got shape [0]"},
        {.op = "DecodeJpeg",
         .inputs = "string[0]",
         .want = "InvalidArgument: contents must be scalar, got shape [0]"},
        {.op = "DecodeGif",
         .inputs = "string[0]",
         .want = "InvalidArgument: contents must be scalar, got shape [0]"},
        {.op = "DecodeBmp",
         .inputs = "string[0]",
         .want = "InvalidArgument: contents must be scalar, got shape [0]"},
        {.op = "DecodeImage",
         .inputs = "string[0]",
         .want = "InvalidArgument: contents must be scalar, got shape [0]"},
        {.op = "ExtractJpegShape",
         .inputs = "string[0]",
         .want = "InvalidArgument: contents must be scalar, got shape [0]"},
        {.op = "DecodeAndCropJpeg",
         .inputs = "string[1] a; int32[4] 0 0 1 1",
         .want = "InvalidArgument: contents must be scalar, got shape [1]"},
        {.op = "DecodeAndCropJpeg",
         .inputs = "string[] a; int32[] 0",
         .want = "InvalidArgument: crop_window must be 1-D"},
        {.op = "DecodeAndCropJpeg",
         .inputs = "string[] a; int32[0]",
         .want = "InvalidArgument: crop_size must have four elements"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"DecodePng", NULL, "string[]", "[?,?,?]"},
        {"DecodePng", "channels=3", "string?", "[?,?,3]"},
        {"DecodeJpeg", "channels=-1", "string?", "InvalidArgument: channels must be non-negative, got -1"},
        {"DecodeJpeg", NULL, "string[1]", "InvalidArgument: must be rank 0 but is rank 1"},
        {"DecodeAndCropJpeg", "channels=1", "string[]; int32[4] 1 2 3 4", "[3,4,1]"},
        {"DecodeAndCropJpeg", NULL, "string[]; int32[4]", "[?,?,?]"},
        {"DecodeGif", NULL, "string[]", "[?,?,?,3]"},
        {"DecodeBmp", "channels=4", "string[]", "[?,?,4]"},
        {"DecodeImage", "channels=4", "string[]", "?"},
        {"DecodeImage", "channels=1; expand_animations=false", "string[]", "[?,?,1]"},
        {"ExtractJpegShape", NULL, "string[]", "[3]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_files_decode),
        cmocka_unit_test(jpeg_files_decode),
        cmocka_unit_test(jpeg_colors_and_ratios_are_converted),
        cmocka_unit_test(gif_and_bmp_files_decode),
        cmocka_unit_test(decode_image_detects_the_format),
        cmocka_unit_test(the_fast_transform_is_close),
        cmocka_unit_test(extract_jpeg_shape_reads_the_header),
        cmocka_unit_test(a_truncated_jpeg_is_recovered_on_request),
        cmocka_unit_test(each_prefix_of_a_file_is_an_error),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(input_shapes_follow_the_definition),
    };
    return BD_RUN_TESTS(tests);
}
