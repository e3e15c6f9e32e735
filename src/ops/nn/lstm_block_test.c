// Tests of LSTMBlockCell, BlockLSTM and their gradients. Values computed with numpy in double: outputs from
// the equations, gradients by central differences of the sum of cs and h weighted by their incoming
// gradients.
#include "base/check.h"
#include "base/testing/test.h"
#include "ops/testing/program.h"

static void forwards_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"LSTMBlockCell", "cell_clip=3; use_peephole=false",
         "float[2,3] -0.875 0 -0.875 -1 0.75 0.25; float[2,2] 0.25 0.5 -0.875 -0.625; float[2,2] 0.375 -0.375 -0.25 0.125; float[5,8] 1 0 0.625 -0.875 0.625 0.5 0 -0.5 -0.625 -1 0.25 1 -0.5 0.875 -0.375 0 -0.5 0 -1 -0.875 -0.75 0.625 0.5 0.625 -0.125 0.875 1 0.75 -0.25 -0.75 -0.75 0.75 0.125 0.25 1 -1 -0.75 1 -0.5 0.25; float[2] 1 0.75; float[2] 0.375 -0.125; float[2] -1 -0.5; float[8] -1 -0.875 -0.25 0.5 -0.875 0.5 -1 1",
         "float[2,2] 0.17781087 0.34510527 0.072636706 0.14033625; float[2,2] 0.16484624 0.57437448 -0.27668609 -0.42910766; float[2,2] 0.60393183 0.46490157 0.25091279 0.89330941; float[2,2] 0.17781087 0.74613899 0.26284184 0.81757448; float[2,2] 0.077966441 0.99078086 -0.78661881 0.92072232; float[2,2] 0.1633691 0.51856467 -0.26983521 -0.4045753; float[2,2] 0.029048802 0.38692132 -0.070923984 -0.33077044",
         .tolerance = 2e-5},
        {"LSTMBlockCell", "cell_clip=0.4; use_peephole=true",
         "float[2,3] 1 0.5 0.875 0.375 0.125 -0.75; float[2,2] -0.25 0.5 1 0.125; float[2,2] 1 0.25 -0.625 -0.875; float[5,8] -0.25 -0.875 -0.25 0 -0.125 0.25 -1 0.625 -0.875 0.875 -0.625 -0.75 1 -0.5 -0.75 0 0.375 0.25 0.375 0 -0.875 -0.5 0.375 -0.75 -0.125 0.25 0.125 -0.625 -0.5 -0.625 0.25 -0.625 -0.875 -0.75 0.25 0.75 0.375 -0.25 0.875 -0.875; float[2] -0.75 -0.25; float[2] 0.875 0.875; float[2] 0.375 0.875; float[8] 0.25 -0.875 -0.625 0.25 0.625 -0.75 0.125 0",
         "float[2,2] 0.43398146 0.23934935 0.46490157 0.30735802; float[2,2] -0.4 0.074140944 0.4 0.066289479; float[2,2] 0.64779822 0.39233683 0.96153381 0.79818678; float[2,2] 0.35362907 0.3078635 0.19831247 0.88196054; float[2,2] -0.5862119 -0.50982997 -0.8798267 -0.10894093; float[2,2] -0.37994896 0.074005394 0.37994896 0.066192551; float[2,2] -0.134361 0.02278356 0.075348617 0.058379218",
         .tolerance = 2e-5},
        {"BlockLSTM",
         "use_peephole=true; cell_clip=0; forget_bias=0.5", "int64[] 2; float[3,2,1] -0.375 0.5 -0.75 0.375 -0.5 0.125; float[2,2] 0.5 0.5 -0.125 -0.75; float[2,2] -0.5 -0.875 0.25 -0.875; float[3,8] 0.5 -0.125 1 0.5 0.5 -0.5 -0.375 -0.125 -0.5 0.625 0.125 -0.5 0.25 -0.375 0.5 -0.625 1 0.5 0.625 0.375 -0.75 0.5 0 0.375; float[2] -0.125 -0.5; float[2] -0.375 -0.625; float[2] 0.625 0.875; float[8] 0.125 0.625 -0.875 -0.375 -1 0.375 0.75 0.5", "float[3,2,2] 0.3208213 0.41869691 0.35220178 0.6584175 0.46048294 0.66066809 0.55903843 0.68106613 0 0 0 0; float[3,2,2] -0.098171704 0.074529853 -0.32892834 -0.821007 -0.4531921 -0.34161598 -0.48091677 -0.74063689 0 0 0 0; float[3,2,2] 0.41489885 0.62245933 0.62612418 0.63703079 0.29114213 0.77745967 0.48067316 0.76260067 0 0 0 0; float[3,2,2] 0.64089888 0.64484682 0.6182011 0.31750619 0.67186814 0.58710815 0.55246734 0.46190446 0 0 0 0; float[3,2,2] -0.95262106 -0.56532496 -0.71170229 -0.52130131 -0.92209754 -0.60478164 -0.57743749 -0.16817222 0 0 0 0; float[3,2,2] -0.097857532 0.074392162 -0.31755751 -0.67561759 -0.42451938 -0.32891931 -0.44697752 -0.6295298 0 0 0 0; float[3,2,2] -0.062716783 0.047971549 -0.1963144 -0.21451277 -0.28522105 -0.1931112 -0.24694048 -0.29078262 0 0 0 0",
         .tolerance = 2e-5},
        {"BlockLSTMV2", "use_peephole=false; cell_clip=0",
         "int64[] 3; float[3,2,1] 0.375 0.375 -0.875 -1 0.875 0.5; float[2,2] 0.875 0.5 0.75 -0.75; float[2,2] 0 -0.5 0.375 -0.625; float[3,8] -0.875 0.75 0.125 0.5 0.25 0.375 0.375 0.125 -1 -0.875 0.375 0.25 -0.625 0.375 0 0.875 0.125 -0.375 -0.625 -0.25 -0.5 -0.125 -0.25 0.25; float[2] 0.375 -0.5; float[2] 0.75 0.125; float[2] -0.5 -0.125; float[8] -0.125 -0.25 -0.25 -0.625 0.25 -0.25 -0.625 0.875", "float[3,2,2] 0.37387582 0.55447046 0.28776782 0.48438008 0.60312294 0.2383444 0.62575626 0.2487992 0.28071413 0.59492279 0.34428193 0.52981361; float[3,2,2] 0.66052347 0.18528053 0.55065534 -0.28717757 0.16545125 -0.062440784 0.23607924 -0.19498059 0.20036164 0.030969063 0.24500621 -0.093027101; float[3,2,2] 0.52731652 0.42250463 0.58130309 0.45326185 0.41360607 0.26219527 0.45872837 0.26498688 0.47617564 0.45885852 0.48047796 0.41951226; float[3,2,2] 0.41111087 0.68930562 0.41869691 0.74908721 0.27196152 0.73211281 0.27935747 0.70707111 0.42911535 0.73340704 0.40048037 0.72314622; float[3,2,2] 0.53258729 -0.046840698 0.39850884 0.10894093 -0.17864561 -0.4657985 -0.026403225 -0.4778243 0.43310174 0.10021561 0.38217322 -0.021196799; float[3,2,2] 0.57871167 0.18318909 0.50101121 -0.27953498 0.16395791 -0.062359762 0.23178902 -0.19254671 0.19772284 0.030959166 0.24021872 -0.092759673; float[3,2,2] 0.23791466 0.12627327 0.20977185 -0.20939608 0.044590242 -0.04565438 0.064751997 -0.13614422 0.084845907 0.022705671 0.096202881 -0.067078807",
         .tolerance = 2e-5},
        {"BlockLSTM", NULL,
         "int64[] 3; float[3,0,2]; float[0,1]; float[0,1]; float[3,4] 1; float[1] 1; float[1] 1; float[1] 1; "
         "float[4] 1",
         "float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]"},
        {"BlockLSTM", NULL,
         "int64[] 0; float[1,1,0]; float[1,1] 1; float[1,1] 1; float[1,4] 1; float[1] 1; float[1] 1; float[1] 1; "
         "float[4] 1",
         "float[1,1,1] 0; float[1,1,1] 0; float[1,1,1] 0; float[1,1,1] 0; float[1,1,1] 0; float[1,1,1] 0; float[1,1,1] 0"},
        {"BlockLSTM", NULL,
         "int64[] 1; float[1,1,0]; float[1,1] 0; float[1,1] 0; float[1,4] 1; float[1] 1; float[1] 1; float[1] 1; "
         "float[4] 0",
         "float[1,1,1] 0.5; float[1,1,1] 0; float[1,1,1] 0.7310585786; float[1,1,1] 0.5; float[1,1,1] 0; float[1,1,1] 0; "
         "float[1,1,1] 0"},
        {"LSTMBlockCell", NULL,
         "half[1,1] 0; half[1,1] 0; half[1,1] 0; half[2,4] 0; half[1] 0; half[1] 0; half[1] 0; half[4] 0",
         "half[1,1] 0x3800; half[1,1] 0; half[1,1] 0x39d9; half[1,1] 0x3800; half[1,1] 0; half[1,1] 0; half[1,1] 0"},
        {"LSTMBlockCell", NULL,
         "float[0,2]; float[0,1]; float[0,1]; float[3,4] 1; float[1] 1; float[1] 1; float[1] 1; float[4] 1",
         "float[0,1]; float[0,1]; float[0,1]; float[0,1]; float[0,1]; float[0,1]; float[0,1]"},
        {"BlockLSTMV2", NULL,
         "int64[] 3; float[3,0,2]; float[0,1]; float[0,1]; float[3,4] 1; float[1] 1; float[1] 1; float[1] 1; float[4] 1",
         "float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]"},
        {.op = "BlockLSTMV2",
         .inputs =
             "int64[] 1; half[1,1,1] 0; half[1,1] 0; half[1,1] 0; half[2,4] 0; half[1] 0; half[1] 0; half[1] 0; half[4] 0",
         .want =
             "half[1,1,1] 0x3800; half[1,1,1] 0x0000; half[1,1,1] 0x3800; half[1,1,1] 0x3800; half[1,1,1] 0x0000; half[1,1,1] 0x0000; half[1,1,1] 0x0000"},
    };
    OP_TEST_VALUES(cases);
}

static void backwards_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"LSTMBlockCellGrad", "use_peephole=false",
         "float[2,1] 0 -1; float[2,2] 0.5 0.25 0.75 0.125; float[2,2] -0.75 0.125 -0.5 0.875; float[3,8] -0.125 -0.625 0.125 1 1 0.125 0.875 1 -0.625 -0.625 -0.25 0.625 0 0.125 0.75 1 0.625 0.125 0.75 -0.5 -0.125 0.375 1 0; float[2] -0.375 -0.625; float[2] 0.25 -0.25; float[2] 0.75 -0.375; float[8] 0.5 -0.5 -0.125 0.5 0 -0.25 -0.5 -0.375; float[2,2] 0.74017436 0.49609383 0.81523249 0.63341026; float[2,2] 0.47870789 0.15172218 0.75098953 -0.44868417; float[2,2] 0.72797545 0.66888026 0.47268348 0.70901913; float[2,2] 0.28140561 0.24508501 0.29421497 0.13296424; float[2,2] 0.15499073 -0.031239831 0.48633602 -0.84828364; float[2,2] 0.44520821 0.1505686 0.63573892 -0.42081679; float[2,2] -0.625 -1 -0.625 1; float[2,2] 0.5 -0.25 0.75 -0.75",
         "float[2,2] -0.3728588 -0.70893427 -0.23327974 0.65083453; float[2,8] -0.01526685 0.00827713 -0.36999995 -0.52528787 -0.050713373 -0.058685533 0.045014221 -0.0069644886 -0.036153481 -0.18080861 -0.30717382 0.16304172 -0.092259195 0.023672549 0.099009593 0.036385319; float[2] 0 0; float[2] 0 0; float[2] 0 0",
         .tolerance = 2e-5},
        {"LSTMBlockCellGrad", "use_peephole=true",
         "float[2,1] -0.25 -0.5; float[2,2] 0 -0.625 -0.125 0.375; float[2,2] 0.75 0.375 1 -0.875; float[3,8] 0.875 0.875 1 0.125 1 0 -0.25 0.75 -0.25 -0.375 0.5 0 0.375 -0.125 -0.625 0.375 -0.125 0.5 -1 0 0 0.625 0.75 0.25; float[2] 0.75 -0.125; float[2] -1 -0.375; float[2] 0.375 1; float[8] -0.75 0.5 -0.5 0.125 0 0.375 0.25 0.875; float[2,2] 0.23091976 0.56601854 0.19436781 0.31069438; float[2,2] -0.14666845 -0.47956118 -0.021729179 0.2582797; float[2,2] 0.73715816 0.8519528 0.73105858 0.63703079; float[2,2] 0.51749269 0.64174335 0.28610062 0.71392618; float[2,2] -0.63514895 0.093476304 0.3583574 0.062418747; float[2,2] -0.14562572 -0.44589211 -0.02172576 0.25268578; float[2,2] 0.625 -0.625 -0.25 0.375; float[2,2] -0.125 0.75 -0.625 -0.375",
         "float[2,2] 0.36764461 -0.27789039 -0.34117615 0.063310085; float[2,8] -0.063550244 -0.0072621278 0.077614507 -0.17745151 0 0.024931951 0.0045452338 -0.076885897 -0.023999659 0.0014038739 -0.07245346 0.032501686 0.010511082 0.0091060352 0.0027733891 -0.019352786; float[2] 0.0029999574 0.0050652826; float[2] -0.0013138853 -0.012167706; float[2] -0.00072690585 0.03187306",
         .tolerance = 2e-5},
        {"BlockLSTMGrad", "use_peephole=true",
         "int64[] 2; float[3,2,1] -0.375 0.5 -0.75 0.375 -0.5 0.125; float[2,2] 0.5 0.5 -0.125 -0.75; float[2,2] -0.5 -0.875 0.25 -0.875; float[3,8] 0.5 -0.125 1 0.5 0.5 -0.5 -0.375 -0.125 -0.5 0.625 0.125 -0.5 0.25 -0.375 0.5 -0.625 1 0.5 0.625 0.375 -0.75 0.5 0 0.375; float[2] -0.125 -0.5; float[2] -0.375 -0.625; float[2] 0.625 0.875; float[8] 0.125 0.625 -0.875 -0.375 -1 0.375 0.75 0.5; float[3,2,2] 0.3208213 0.41869691 0.35220178 0.6584175 0.46048294 0.66066809 0.55903843 0.68106613 0 0 0 0; float[3,2,2] -0.098171704 0.074529853 -0.32892834 -0.821007 -0.4531921 -0.34161598 -0.48091677 -0.74063689 0 0 0 0; float[3,2,2] 0.41489885 0.62245933 0.62612418 0.63703079 0.29114213 0.77745967 0.48067316 0.76260067 0 0 0 0; float[3,2,2] 0.64089888 0.64484682 0.6182011 0.31750619 0.67186814 0.58710815 0.55246734 0.46190446 0 0 0 0; float[3,2,2] -0.95262106 -0.56532496 -0.71170229 -0.52130131 -0.92209754 -0.60478164 -0.57743749 -0.16817222 0 0 0 0; float[3,2,2] -0.097857532 0.074392162 -0.31755751 -0.67561759 -0.42451938 -0.32891931 -0.44697752 -0.6295298 0 0 0 0; float[3,2,2] -0.062716783 0.047971549 -0.1963144 -0.21451277 -0.28522105 -0.1931112 -0.24694048 -0.29078262 0 0 0 0; float[3,2,2] -0.375 0.625 -0.125 0.375 0.625 1 0.125 -0.375 0.5 1 0.875 -0.25; float[3,2,2] -0.125 0.125 0.25 0.75 0.125 0 -0.5 -0.125 -0.375 0 -1 0.625",
         "float[3,2,1] 0.15612953 0.047087935 0.18614345 -0.20012416 0 0; float[2,2] -0.14499692 0.94534056 0.022396619 0.050159491; float[2,2] -0.46469353 0.2514733 0.036527965 -0.036642641; float[3,8] 0.089923915 0.18236189 -0.037055375 -0.56024552 0.028522256 -0.060611919 0.012440809 -0.043607012 -0.031304213 0.10912685 0.0084541351 -0.18573076 0.021891088 -0.10486978 -0.021096613 -0.029861599 -0.071198066 0.18103803 0.011531722 -0.3317379 0.038075645 -0.15975631 0.0054002328 0.082251063; float[2] 0.051317553 -0.12166664; float[2] -0.022430552 0.051044655; float[2] -0.012762296 0.068206147; float[8] -0.077918987 -0.33908785 0.019451953 0.62492576 -0.054374858 0.24024483 0.023198469 -0.079237549",
         .tolerance = 2e-5},
        {"BlockLSTMGradV2", "use_peephole=false",
         "int64[] 3; float[3,2,1] 0.375 0.375 -0.875 -1 0.875 0.5; float[2,2] 0.875 0.5 0.75 -0.75; float[2,2] 0 -0.5 0.375 -0.625; float[3,8] -0.875 0.75 0.125 0.5 0.25 0.375 0.375 0.125 -1 -0.875 0.375 0.25 -0.625 0.375 0 0.875 0.125 -0.375 -0.625 -0.25 -0.5 -0.125 -0.25 0.25; float[2] 0.375 -0.5; float[2] 0.75 0.125; float[2] -0.5 -0.125; float[8] -0.125 -0.25 -0.25 -0.625 0.25 -0.25 -0.625 0.875; float[3,2,2] 0.37387582 0.55447046 0.28776782 0.48438008 0.60312294 0.2383444 0.62575626 0.2487992 0.28071413 0.59492279 0.34428193 0.52981361; float[3,2,2] 0.66052347 0.18528053 0.55065534 -0.28717757 0.16545125 -0.062440784 0.23607924 -0.19498059 0.20036164 0.030969063 0.24500621 -0.093027101; float[3,2,2] 0.52731652 0.42250463 0.58130309 0.45326185 0.41360607 0.26219527 0.45872837 0.26498688 0.47617564 0.45885852 0.48047796 0.41951226; float[3,2,2] 0.41111087 0.68930562 0.41869691 0.74908721 0.27196152 0.73211281 0.27935747 0.70707111 0.42911535 0.73340704 0.40048037 0.72314622; float[3,2,2] 0.53258729 -0.046840698 0.39850884 0.10894093 -0.17864561 -0.4657985 -0.026403225 -0.4778243 0.43310174 0.10021561 0.38217322 -0.021196799; float[3,2,2] 0.57871167 0.18318909 0.50101121 -0.27953498 0.16395791 -0.062359762 0.23178902 -0.19254671 0.19772284 0.030959166 0.24021872 -0.092759673; float[3,2,2] 0.23791466 0.12627327 0.20977185 -0.20939608 0.044590242 -0.04565438 0.064751997 -0.13614422 0.084845907 0.022705671 0.096202881 -0.067078807; float[3,2,2] 0.875 1 0.375 -0.75 0.5 0.75 0.875 0.625 -0.25 0.125 0.5 -0.125; float[3,2,2] 0.875 0.125 -0.625 0.125 0.875 1 0.5 -1 0.25 -1 -0.375 -0.25",
         "float[3,2,1] 0.34607915 -0.14701668 0.1679898 0.2204123 -0.13461934 -0.057593751; float[2,2] 0.7282633 0.5215376 0.34048815 -0.46823063; float[2,2] 0.011080311 -0.50176846 -0.19405292 -0.072648207; float[3,8] 0.1176277 0.045453046 -0.087080796 0.09309859 -0.82407762 -0.4860893 -0.038115652 -0.028617811 0.011408361 -0.032212544 0.098216423 0.086447897 0.29674516 -0.16496196 -0.036959097 0.012120701 -0.12157926 0.0079229208 -0.23982623 -0.19451878 -0.38889332 0.043650458 0.016016108 -0.018767931; float[2] 0 0; float[2] 0 0; float[2] 0 0; float[8] 0.20380724 -0.14201753 0.6813357 0.4228825 1.6693939 -0.13840868 0.035142253 0.038913496",
         .tolerance = 2e-5},
        {"LSTMBlockCellGrad", "use_peephole=true",
         "float[0,2]; float[0,1]; float[0,1]; float[3,4] 1; float[1] 1; float[1] 1; float[1] 1; float[4] 1; float[0,1]; float[0,1]; float[0,1]; float[0,1]; float[0,1]; float[0,1]; float[0,1]; float[0,1]",
         "float[0,1]; float[0,4]; float[1] 0; float[1] 0; float[1] 0"},
        {"BlockLSTMGrad", "use_peephole=true",
         "int64[] 3; float[3,0,2]; float[0,1]; float[0,1]; float[3,4] 1; float[1] 1; float[1] 1; float[1] 1; float[4] 1; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]",
         "float[3,0,2]; float[0,1]; float[0,1]; float[3,4] 0; float[1] 0; float[1] 0; float[1] 0; float[4] 0"},
        {"BlockLSTMGradV2", "use_peephole=true",
         "int64[] 3; float[3,0,2]; float[0,1]; float[0,1]; float[3,4] 1; float[1] 1; float[1] 1; float[1] 1; float[4] 1; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]; float[3,0,1]",
         "float[3,0,2]; float[0,1]; float[0,1]; float[3,4] 0; float[1] 0; float[1] 0; float[1] 0; float[4] 0"},
        {"BlockLSTMGradV2", "use_peephole=false",
         "int64[] 0; float[2,1,1] 1; float[1,1] 1; float[1,1] 1; float[2,4] 1; float[1] 1; float[1] 1; float[1] 1; float[4] 1; float[2,1,1] 1; float[2,1,1] 1; float[2,1,1] 1; float[2,1,1] 1; float[2,1,1] 1; float[2,1,1] 1; float[2,1,1] 1; float[2,1,1] 1; float[2,1,1] 1",
         "float[2,1,1] 0; float[1,1] 0; float[1,1] 0; float[2,4] 0; float[1] 0; float[1] 0; float[1] 0; float[4] 0"},
        {.op = "LSTMBlockCellGrad",
         .attrs = "use_peephole=true",
         .inputs =
             "half[1,1] 0; half[1,1] 0; half[1,1] 0; half[2,4] 0; half[1] 0; half[1] 0; half[1] 0; half[4] 0; half[1,1] 0x3800; half[1,1] 0x0000; half[1,1] 0x3800; half[1,1] 0x3800; half[1,1] 0x0000; half[1,1] 0x0000; half[1,1] 0x3c00; half[1,1] 0x3c00",
         .want = "half[1,1] 0x3a00; half[1,4] 0x0000 0x3a00 0x0000 0x0000; half[1] 0; half[1] 0; half[1] 0"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"LSTMBlockCell", NULL,
         "float[2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: x must be 2D"},
        {"LSTMBlockCell", NULL,
         "float[2,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: cs_prev.dims(0) != batch_size: 1 vs. 2"},
        {"LSTMBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[1,2] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: h_prev.dims(1) != cell_size: 2 vs. 3"},
        {"LSTMBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[1,3] 1; float[6,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: w.dim_size(0) != input_size + cell_size: 6 vs. 5"},
        {"LSTMBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[1,3] 1; float[5,13] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: w.dim_size(1) != cell_size * 4: 13 vs. 12"},
        {"LSTMBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[11] 1",
         "InvalidArgument: b.dim_size(0) != cell_size * 4: 11 vs. 12"},
        {"LSTMBlockCell", NULL,
         "float[1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[2] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: wci.dim_size(0) != cell_size: 2 vs. 3"},
        {"BlockLSTM", NULL,
         "int64[] 1; float[1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: x must be 3D"},
        {"BlockLSTM", NULL,
         "int64[] 1; float[4,1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: wci must be 1D"},
        {"BlockLSTM", NULL,
         "int64[] 5; float[4,1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: seq_len_max is 5, but x has 4 steps"},
        {"BlockLSTM", NULL,
         "int64[] -1; float[4,1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: seq_len_max is -1"},
        {"BlockLSTM", NULL,
         "int64[1] 1; float[4,1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: seq_len_max must be a scalar"},
        {"LSTMBlockCellGrad", "use_peephole=false",
         "float[1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1; float[1,3] 1; float[1,2] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1",
         "InvalidArgument: cs must have shape [1,3], but has [1,2]"},
        {"LSTMBlockCellGrad", "use_peephole=false",
         "float[1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[3] 1",
         "InvalidArgument: h_grad must have shape [1,3], but has [3]"},
        {"BlockLSTMGrad", "use_peephole=false",
         "int64[] 1; float[4,1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[1,1,3] 1; float[4,1,3] 1; float[4,1,3] 1",
         "InvalidArgument: h must have shape [4,1,3], but has [1,1,3]"},
        {"LSTMBlockCell", NULL,
         "float[] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: x must be 2D"},
        {"LSTMBlockCellGrad", "use_peephole=false",
         "float[] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1; float[1,3] 1",
         "InvalidArgument: x must be 2D"},
        {"BlockLSTMV2", NULL,
         "int64[0]; float[4,1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: seq_len_max must be a scalar, but has shape [0]"},
        {"BlockLSTMV2", NULL,
         "int64[] 1; float[] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1",
         "InvalidArgument: x must be 3D"},
        {"BlockLSTMGrad", "use_peephole=false",
         "int64[2] 1; float[4,1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1",
         "InvalidArgument: seq_len_max must be a scalar, but has shape [2]"},
        {"BlockLSTMGrad", "use_peephole=false",
         "int64[] 1; float[] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1",
         "InvalidArgument: x must be 3D"},
        {"BlockLSTMGradV2", "use_peephole=false",
         "int64[2] 1; float[4,1,2] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1",
         "InvalidArgument: seq_len_max must be a scalar, but has shape [2]"},
        {"BlockLSTMGradV2", "use_peephole=false",
         "int64[] 1; float[] 1; float[1,3] 1; float[1,3] 1; float[5,12] 1; float[3] 1; float[3] 1; float[3] 1; float[12] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1; float[4,1,3] 1",
         "InvalidArgument: x must be 3D"},
    };
    OP_TEST_VALUES(cases);
}

#define CELL "[?,2]; [?,3]; ?; ?; ?; ?; ?; ?"
#define BLOCK "int64[]; [5,?,2]; [7,3]; [7,3]; [5,12]; [3]; [3]; [3]; [12]"

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"LSTMBlockCell", NULL, CELL, "[?,3]; [?,3]; [?,3]; [?,3]; [?,3]; [?,3]; [?,3]"},
        {"LSTMBlockCellGrad", "use_peephole=false", CELL "; ?; ?; ?; ?; ?; ?; ?; ?",
         "[?,3]; [?,12]; [3]; [3]; [3]"},
        {"LSTMBlockCell", NULL, "[2]; [?,3]; ?; ?; ?; ?; ?; ?",
         "InvalidArgument: Shape must be rank 2 but is rank 1"},
        {"BlockLSTM", NULL, BLOCK, "[5,?,3]; [5,?,3]; [5,?,3]; [5,?,3]; [5,?,3]; [5,?,3]; [5,?,3]"},
        {"BlockLSTMV2", NULL, "int64[]; [5,?,2]; ?; ?; ?; ?; ?; ?; [13]",
         "InvalidArgument: Dimension size must be evenly divisible by 4 but is 13"},
        {"BlockLSTMGrad", "use_peephole=false", BLOCK "; ?; ?; ?; ?; ?; ?; ?; ?; ?",
         "[5,?,2]; [7,3]; [7,3]; [5,12]; [3]; [3]; [3]; [12]"},
    };
    OP_TEST_SHAPES(cases);
}

// The gradients of all inputs, from those of some outputs.
static void gradients_are_correct(void **state)
{
    (void)state;
    static const struct {
        const char *input, *gradient;
    } rows[] = {
        {"float[2,3] -0.875 -0.625 -0.875 -0.5 -0.875 -0.375",
         "float[2,3] 0.038518231 0.0014470057 0.45329701 -0.099396582 0.10823325 0.047605193"},
        {"float[2,2] 0.125 -0.75 -0.625 0.375", "float[2,2] 0.48925339 0.19327671 -0.069636389 0.49430731"},
        {"float[2,2] 0.875 1 0.5 0.375", "float[2,2] 0.23072876 -0.1430717 -0.17255752 -0.046816368"},
        {"float[5,8] 0.125 0.125 0.5 -0.625 0.75 0.75 0.875 -0.625 1 -0.5 0.375 0 0.375 0.875 0.625 -0.125 -0.625 0.5 0.5 0.875 0 -0.25 -0.25 0.5 -0.125 0.25 0.875 -0.375 -0.5 0.125 0.125 -1 -0.75 0.5 -0.25 0 -0.75 0.25 0.75 -0.25",
         "float[5,8] 0.11259309 0.11560667 -0.37166152 -0.18740745 -0.052175762 0.030724072 0.016513234 -0.09249705 0.071334489 0.13756437 -0.21577637 -0.24766462 -0.057102379 -0.010594668 0.011795167 -0.048536911 0.11478703 0.10233366 -0.38365714 -0.15993797 -0.04738825 0.038578659 0.016513234 -0.096729011 -0.11259309 -0.11560667 0.37166152 0.18740745 0.052175762 -0.030724072 -0.016513234 0.09249705 -0.13212543 -0.11126432 0.44360628 0.17101361 0.052106209 -0.047456148 -0.018872267 0.11236114"},
        {"float[2] 0.25 -0.375", "float[2] -0.028308066 0.013764937"},
        {"float[2] 0.875 0.5", "float[2] -0.0192196 0.076828695"},
        {"float[2] 0.125 0", "float[2] 0.0029277631 -0.10552973"},
        {"float[8] 0.875 -0.375 0.125 -0.5 0.5 0.125 0.375 -0.25",
         "float[8] -0.12115577 -0.17762937 0.38362818 0.30836104 0.076043768 -0.0081832106 -0.018872267 0.091201333"},
    };
    enum {
        INPUTS = BD_COUNTOF(rows)
    };
    for (int k = 0; k < INPUTS; k++) {
        program *p = program_new();
        braid_out inputs[INPUTS], grads[INPUTS];
        for (int i = 0; i < INPUTS; i++)
            inputs[i] = program_feed(p, rows[i].input);
        braid_op *op = op_test_node(p->g, "LSTMBlockCell", "use_peephole=true; cell_clip=0", inputs, INPUTS);
        const braid_out ys[] = {{op, 1}, {op, 6}};
        const braid_out dys[] = {program_feed(p, "float[2,2] 1 0.5 -0.25 0"),
                                 program_feed(p, "float[2,2] 0.5 -1 0 2")};
        braid_gradients(p->g, ys, 2, inputs, INPUTS, dys, grads);
        program_expect(p, &grads[k], 1, rows[k].gradient);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forwards_follow_the_definition), cmocka_unit_test(backwards_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_are_correct),
    };
    return BD_RUN_TESTS(tests);
}
