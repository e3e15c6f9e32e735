// Fingerprints against the values that other programs have for them.
#include "base/fingerprint.h"
#include "base/testing/test.h"

// Byte i is i*i*7 + i*13 + 5; values from Debian's libfarmhash. Each length is the first or last that its
// branch serves.
static void fingerprint64_is_farmhash(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        uint64_t want;
    } cases[] = {
        {0, 0x9ae16a3b2f90404f},   {1, 0xd020916ec7d8cfe2},   {3, 0x0c2354c21183ef0d},
        {4, 0x4a2b0aaa3dacbaa4},   {7, 0x03e5b187921b155d},   {8, 0x5dab0a4f83823c7a},
        {16, 0x7d1c34d671523eba},  {17, 0x21123d91559b1173},  {32, 0xbd5e9bc47dbd0ed9},
        {33, 0x6884938e4a2babe9},  {64, 0xcf38bc968b7ab258},  {65, 0xb929c2689c526cc6},
        {127, 0xe1d11a52c1086548}, {128, 0x37fdbda733793d85}, {129, 0xb7ff36546244508d},
        {999, 0xe8f7bd8e9d3b863f},
    };
    uint8_t bytes[1000];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i * 7 + i * 13 + 5);
    for (size_t i = 0; i < BD_COUNTOF(cases); i++)
        assert_true(bd_fingerprint64(bytes, cases[i].len) == cases[i].want);
}

// The same bytes; values from TensorFlow 1.15's SdcaFprint.
static void fingerprint128_is_farmhash(void **state)
{
    (void)state;
    static const struct {
        size_t len;
        uint64_t want[2];
    } cases[] = {
        {0, {0x3df09dfc64c09a2b, 0x3cb540c392e51e29}},   {1, {0x99feb050afcdbfd5, 0x1d7ff4a7ab4ab8b}},
        {7, {0x9e1177181639b602, 0xf45ecca0bebed93c}},   {8, {0xdf217e3930af5201, 0xf2d9168c37c07a5d}},
        {15, {0xb2ded585e78a1d45, 0x4383ff4d29987350}},  {16, {0x91273c9cc7ab6a4a, 0xbe5bfd35606d9408}},
        {17, {0x361368813917d1af, 0xf51266f15e386684}},  {24, {0x5e1ae35fbe966aee, 0x846eb985e326b2bb}},
        {32, {0x71eadb4f8e80a983, 0x545f9cd1c7be6df2}},  {33, {0xc8ff1c851e114a47, 0x9d0054b2f6d6ad6a}},
        {48, {0x3cf55870700156b6, 0xb06221d3f225f63b}},  {49, {0xb294f0e1c23c3423, 0xde795ef50c5a73e3}},
        {143, {0x5e031335fda73787, 0x5fc6c5ac282cfba1}}, {144, {0xc927ab74e1b05c70, 0x60d469e8e3e62dea}},
        {145, {0xd03771a261b94187, 0xb57bbb3cceca5f2b}}, {271, {0xd4b63358210d7cbc, 0x10e635c6003df5d4}},
        {272, {0x4303e5cbd7adc33f, 0xe8a9e631f32119e2}}, {273, {0xbbdd09838aef1631, 0x680df92037b30c24}},
        {999, {0xf4af78e563ac01a7, 0x47653e5374fdf94a}},
    };
    uint8_t bytes[1000];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i * 7 + i * 13 + 5);
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        uint64_t halves[2];
        bd_fingerprint128(bytes, cases[i].len, halves);
        assert_memory_equal(halves, cases[i].want, sizeof halves);
    }
}

// The values of TensorFlow's own tests of the bucket ops for these texts.
static void texts_hash_as_in_tensorflow(void **state)
{
    (void)state;
    const uint64_t key[2] = {98765, 132};
    assert_true(bd_fingerprint64("a", 1) == 12917804110809363939u);
    assert_true(bd_fingerprint64("b", 1) == 11795596070477164822u);
    assert_true(bd_hash64("a", 1, BD_HASH64_SEED) == 2996632905371535868u);
    assert_true(bd_hash64("b", 1, BD_HASH64_SEED) == 5795986006276551370u);
    assert_true(bd_hash64("c", 1, BD_HASH64_SEED) == 14899841994519054197u);
    assert_true(bd_siphash("a", 1, key) == 7157389809176466784u);
    assert_true(bd_siphash("b", 1, key) == 15805638358933211562u);
    assert_true(bd_siphash("c", 1, key) == 18100027895074076528u);
}

// Appendix A of the paper on SipHash, and of the authors' vectors the empty text and whole words.
static void siphash_gives_the_known_answers(void **state)
{
    (void)state;
    const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    uint8_t bytes[16];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)i;
    assert_true(bd_siphash(bytes, 0, key) == 0x726fdb47dd0e0e31);
    assert_true(bd_siphash(bytes, 8, key) == 0x93f5f5799a932462);
    assert_true(bd_siphash(bytes, 15, key) == 0xa129ca6149be45e5);
}

static void sequences_have_an_order(void **state)
{
    (void)state;
    uint64_t a = bd_fingerprint64("a", 1), b = bd_fingerprint64("b", 1);
    assert_true(bd_fingerprint_cat64(a, b) != bd_fingerprint_cat64(b, a));
    // Python, from the definition: shift-and-multiply steps with Murmur's factor.
    assert_true(bd_fingerprint_cat64(0xDECAFCAFFE, a) == 12773892476372304915u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fingerprint64_is_farmhash),   cmocka_unit_test(fingerprint128_is_farmhash),
        cmocka_unit_test(texts_hash_as_in_tensorflow), cmocka_unit_test(siphash_gives_the_known_answers),
        cmocka_unit_test(sequences_have_an_order),
    };
    return BD_RUN_TESTS(tests);
}
