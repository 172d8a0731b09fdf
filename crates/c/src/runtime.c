/* Functions that generated code calls. Each stands after a line that says its name and what it needs.

   Nothing here depends on the standard library or on the environment: rounding is to nearest, which is
   how programs begin, and all else is arithmetic. */

/*@ bits_f64 */
/* Floats and their bits. */
static inline uint64_t cotan_bits_f64(double x)
{
    union { double x; uint64_t bits; } both = {x};
    return both.bits;
}

/*@ from_bits_f64 */
static inline double cotan_from_bits_f64(uint64_t bits)
{
    union { uint64_t bits; double x; } both = {bits};
    return both.x;
}

/*@ bits_f32 */
static inline uint32_t cotan_bits_f32(float x)
{
    union { float x; uint32_t bits; } both = {x};
    return both.bits;
}

/*@ from_bits_f32 */
static inline float cotan_from_bits_f32(uint32_t bits)
{
    union { uint32_t bits; float x; } both = {bits};
    return both.x;
}

/*@ i64 */
/* The integer of 64 bits: what is 2^63 or above stands for negative numbers. */
static inline int64_t cotan_i64(uint64_t bits)
{
    return bits <= INT64_MAX ? (int64_t)bits : -(int64_t)(UINT64_MAX - bits) - 1;
}

/*@ u128 */
/* Integers of 128 bits. */
typedef struct { uint64_t high, low; } cotan_u128;

static inline cotan_u128 cotan_product(uint64_t a, uint64_t b)
{
    const uint64_t half = UINT64_C(0xffffffff);
    const uint64_t a0 = a & half, a1 = a >> 32, b0 = b & half, b1 = b >> 32;
    const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    const uint64_t other = a0 * b1 + (middle & half);
    const cotan_u128 product = {a1 * b1 + (middle >> 32) + (other >> 32), a * b};
    return product;
}

/* Moved up by less than 128. */
static inline cotan_u128 cotan_shift_left(cotan_u128 x, int n)
{
    cotan_u128 y = x;
    if (n >= 64) {
        y.high = x.low << (n - 64);
        y.low = 0;
    } else if (n > 0) {
        y.high = x.high << n | x.low >> (64 - n);
        y.low = x.low << n;
    }
    return y;
}

/* Moved down; the lowest bit is 1 if a bit was lost. */
static inline cotan_u128 cotan_shift_right(cotan_u128 x, int n)
{
    cotan_u128 y = x;
    if (n >= 128) {
        y.high = 0;
        y.low = (uint64_t)((x.high | x.low) != 0);
    } else if (n >= 64) {
        const uint64_t lost = x.low | (n > 64 ? x.high << (128 - n) : 0);
        y.high = 0;
        y.low = x.high >> (n - 64) | (uint64_t)(lost != 0);
    } else if (n > 0) {
        const uint64_t lost = x.low << (64 - n);
        y.high = x.high >> n;
        y.low = x.high << (64 - n) | x.low >> n | (uint64_t)(lost != 0);
    }
    return y;
}

/* The position of the highest bit of a number that is not 0. */
static inline int cotan_top_bit(cotan_u128 x)
{
    uint64_t word = x.high ? x.high : x.low;
    int n = x.high ? 64 : 0;
    for (int step = 32; step > 0; step /= 2)
        if (word >> step) {
            word >>= step;
            n += step;
        }
    return n;
}

/*@ soft_fma_f64 bits_f64 from_bits_f64 u128 */
/* a * b + c, rounded once, for machines without an instruction for it. */
static inline double cotan_soft_fma_f64(double a, double b, double c)
{
    const uint64_t sign = UINT64_C(1) << 63, one = UINT64_C(1) << 52;
    const uint64_t bits[3] = {cotan_bits_f64(a), cotan_bits_f64(b), cotan_bits_f64(c)};
    uint64_t m[3];
    int e[3];
    for (int n = 0; n < 3; ++n) {
        /* A number is m * 2^(e - 1075). */
        const int exponent = (int)(bits[n] >> 52 & 2047);
        if (exponent == 2047)
            return n < 2 ? a * b + c : c;
        m[n] = exponent ? (bits[n] & (one - 1)) | one : bits[n] & (one - 1);
        e[n] = exponent ? exponent : 1;
    }
    if (m[0] == 0 || m[1] == 0)
        return a * b + c;
    /* Product and addend with their highest bits at 126, the lesser one moved down to the other. */
    cotan_u128 x = cotan_product(m[0], m[1]), y = {0, m[2]};
    uint64_t sign_x = (bits[0] ^ bits[1]) & sign, sign_y = bits[2] & sign;
    const int up_x = 126 - cotan_top_bit(x), up_y = m[2] ? 126 - cotan_top_bit(y) : 0;
    int at_x = e[0] + e[1] - 2150 - up_x, at_y = e[2] - 1075 - up_y;
    x = cotan_shift_left(x, up_x);
    y = cotan_shift_left(y, up_y);
    if (m[2] == 0)
        at_y = at_x;
    if (at_x < at_y || (at_x == at_y && (x.high < y.high || (x.high == y.high && x.low < y.low)))) {
        const cotan_u128 z = x;
        const int at = at_x;
        const uint64_t s = sign_x;
        x = y;
        y = z;
        at_x = at_y;
        at_y = at;
        sign_x = sign_y;
        sign_y = s;
    }
    y = cotan_shift_right(y, at_x - at_y);
    if (sign_x == sign_y) {
        x.low += y.low;
        x.high += y.high + (uint64_t)(x.low < y.low);
    } else {
        const uint64_t borrow = (uint64_t)(x.low < y.low);
        x.low -= y.low;
        x.high -= y.high + borrow;
        if ((x.high | x.low) == 0)
            return 0.0;
    }
    /* 53 bits, or fewer below the least normal number, two more to round by, and what is lost. */
    const int top = cotan_top_bit(x) + at_x;
    const int lowest = top < -1022 ? -1074 : top - 52;
    const int down = lowest - at_x - 2;
    x = down < 0 ? cotan_shift_left(x, -down) : cotan_shift_right(x, down);
    uint64_t q = x.low >> 2;
    const uint64_t rest = x.low & 3;
    q += (uint64_t)(rest == 3 || (rest == 2 && (q & 1)));
    if (top > 1023)
        q = UINT64_C(2047) << 52;
    else if (top >= -1022)
        q += (uint64_t)(top + 1022) << 52;
    return cotan_from_bits_f64(sign_x | q);
}

/*@ fma_f64 soft_fma_f64 */
/* a * b + c, rounded once. */
#if defined(__FP_FAST_FMA) || defined(__FMA__)
#define cotan_fma_f64(a, b, c) __builtin_fma(a, b, c)
#else
#define cotan_fma_f64(a, b, c) cotan_soft_fma_f64(a, b, c)
#endif

/*@ fma_f32 bits_f64 from_bits_f64 */
#if defined(__FP_FAST_FMAF) || defined(__FMA__)
#define cotan_fma_f32(a, b, c) __builtin_fmaf(a, b, c)
#else
/* The product is exact in double precision, and a sum that is rounded to an odd number can be rounded
   again. */
static inline float cotan_fma_f32(float a, float b, float c)
{
    const double product = (double)a * (double)b, addend = (double)c;
    double sum = product + addend;
    const double part = sum - product;
    const double error = (product - (sum - part)) + (addend - part);
    const uint64_t bits = cotan_bits_f64(sum);
    if ((error > 0 || error < 0) && !(bits & 1))
        sum = cotan_from_bits_f64((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
    return (float)sum;
}
#endif

/*@ rolled */
/* Before a loop that gcc must not unroll before it makes vectors of it. */
#if defined(__GNUC__) && !defined(__clang__)
#define COTAN_ROLLED _Pragma("GCC unroll 1")
#else
#define COTAN_ROLLED
#endif

/*@ mul_add */
/* a * b + c where it does not matter whether the product is rounded: as the machine does it best. */
#if defined(__FP_FAST_FMA) || defined(__FMA__)
#define cotan_mul_add_f64(a, b, c) __builtin_fma(a, b, c)
#else
#define cotan_mul_add_f64(a, b, c) ((a) * (b) + (c))
#endif
#if defined(__FP_FAST_FMAF) || defined(__FMA__)
#define cotan_mul_add_f32(a, b, c) __builtin_fmaf(a, b, c)
#else
#define cotan_mul_add_f32(a, b, c) ((a) * (b) + (c))
#endif

/*@ sqrt_f64 bits_f64 from_bits_f64 */
/* The square root, rounded once. With -fno-math-errno it is an instruction where there is one. */
#if defined(__NO_MATH_ERRNO__)
#define cotan_sqrt_f64(x) __builtin_sqrt(x)
#else
static inline double cotan_sqrt_f64(double x)
{
    uint64_t bits = cotan_bits_f64(x);
    if (!(x > 0) || bits == UINT64_C(2047) << 52)
        return x < 0 ? (x - x) / (x - x) : x;
    int exponent = (int)(bits >> 52);
    uint64_t m = bits & ((UINT64_C(1) << 52) - 1);
    if (exponent)
        m |= UINT64_C(1) << 52;
    else
        for (exponent = 1; !(m >> 52); --exponent)
            m <<= 1;
    /* x = m * 2^(exponent - 1075); an even power of two outside of the root. */
    if (!(exponent & 1))
        m <<= 1;
    /* One bit of the root at a time, 54 of them. */
    uint64_t root = 0, rest = 0;
    for (int n = 0; n < 54; ++n) {
        rest = rest << 2 | (n <= 26 ? m >> (52 - 2 * n) & 3 : 0);
        root <<= 1;
        if (rest > root << 1) {
            rest -= (root << 1) + 1;
            root += 1;
        }
    }
    /* The last bit and the rest decide how it is rounded: half a unit is never met exactly. */
    root = (root >> 1) + (root & 1);
    return cotan_from_bits_f64(((uint64_t)((exponent + 1021) >> 1) << 52) + root);
}
#endif

/*@ sqrt_f32 sqrt_f64 */
#if defined(__NO_MATH_ERRNO__)
#define cotan_sqrt_f32(x) __builtin_sqrtf(x)
#else
#define cotan_sqrt_f32(x) ((float)cotan_sqrt_f64((double)(x)))
#endif

/*@ large_circular u128 bits_f64 from_bits_f64 fma_f64 */
/* Large arguments of circular functions: |x| = n pi/2 + r up to whole turns, r as a sum. The table is 64
   zeros and the bits of 2/pi. */
typedef struct { double high, low; uint64_t n; } cotan_reduced;

static cotan_reduced cotan_reduce_large(double x)
{
    static const uint64_t table[20] = {
        UINT64_C(0x0000000000000000), UINT64_C(0xa2f9836e4e441529), UINT64_C(0xfc2757d1f534ddc0),
        UINT64_C(0xdb6295993c439041), UINT64_C(0xfe5163abdebbc561), UINT64_C(0xb7246e3a424dd2e0),
        UINT64_C(0x06492eea09d1921c), UINT64_C(0xfe1deb1cb129a73e), UINT64_C(0xe88235f52ebb4484),
        UINT64_C(0xe99c7026b45f7e41), UINT64_C(0x3991d639835339f4), UINT64_C(0x9c845f8bbdf9283b),
        UINT64_C(0x1ff897ffde05980f), UINT64_C(0xef2f118b5a0a6d1f), UINT64_C(0x6d367ecf27cb09b7),
        UINT64_C(0x4f463f669e5fea2d), UINT64_C(0x7527bac7ebe5f17b), UINT64_C(0x3d0739f78a5292ea),
        UINT64_C(0x6bfb5fb11f8d5d08), UINT64_C(0x56033046fc7b6bab),
    };
    const uint64_t bits = cotan_bits_f64(x);
    const uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    const int first = (int)(bits >> 52 & 2047) - 1013;
    const int shift = first % 64;
    uint64_t window[3];
    for (int n = 0; n < 3; ++n) {
        const uint64_t *const at = table + first / 64 + n;
        window[n] = shift ? at[0] << shift | at[1] >> (64 - shift) : at[0];
    }
    const cotan_u128 p = cotan_product(m, window[2]), q = cotan_product(m, window[1]);
    const uint64_t p1 = p.high + q.low;
    const uint64_t p2 = q.high + m * window[0] + (uint64_t)(p1 < p.high);
    uint64_t n = p2 >> 62;
    uint64_t a[3] = {p2 << 2 | p1 >> 62, p1 << 2 | p.low >> 62, p.low << 2};
    const bool negative = a[0] >> 63;
    if (negative) {
        n += 1;
        for (int k = 0; k < 3; ++k)
            a[k] = ~a[k];
    }
    uint64_t zeros = 0;
    for (; !(a[0] >> 63) && zeros < 128; ++zeros) {
        a[0] = a[0] << 1 | a[1] >> 63;
        a[1] = a[1] << 1 | a[2] >> 63;
        a[2] <<= 1;
    }
    const double half_pi[2] = {1.5707963267948966, 6.123233995736766e-17};
    const double high = (double)(a[0] >> 11) * cotan_from_bits_f64((1023 - 53 - zeros) << 52);
    const uint64_t below = (a[0] << 53 | a[1] >> 11) >> 11;
    const double low = (double)below * cotan_from_bits_f64((1023 - 106 - zeros) << 52);
    const double r = high * half_pi[0];
    const double error = cotan_fma_f64(high, half_pi[0], -r);
    const double rest = error + cotan_fma_f64(high, half_pi[1], low * half_pi[0]);
    const double sum = r + rest, left = (r - sum) + rest;
    const cotan_reduced reduced = {negative ? -sum : sum, negative ? -left : left, n & 3};
    return reduced;
}

/*@ constants */
#if defined(__GNUC__)
#define cotan_inf_f64 __builtin_inf()
#define cotan_nan_f64 __builtin_nan("")
#define cotan_inf_f32 __builtin_inff()
#define cotan_nan_f32 __builtin_nanf("")
#else
#define cotan_inf_f64 (1.0 / 0.0)
#define cotan_nan_f64 (0.0 / 0.0)
#define cotan_inf_f32 (1.0f / 0.0f)
#define cotan_nan_f32 (0.0f / 0.0f)
#endif

/*@ i64_arithmetic i64 */
/* Integers wrap. */
static inline int64_t cotan_add_i64(int64_t a, int64_t b)
{
    return cotan_i64((uint64_t)a + (uint64_t)b);
}

static inline int64_t cotan_sub_i64(int64_t a, int64_t b)
{
    return cotan_i64((uint64_t)a - (uint64_t)b);
}

static inline int64_t cotan_mul_i64(int64_t a, int64_t b)
{
    return cotan_i64((uint64_t)a * (uint64_t)b);
}

/*@ floor_div_i64 i64 */
/* The quotient rounded down; 0 for a divisor of 0. */
static inline int64_t cotan_floor_div_i64(int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    if (b == -1)
        return cotan_i64(-(uint64_t)a);
    const int64_t q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

/*@ rem_i64 */
/* The remainder with the sign of the divisor; 0 for a divisor of 0. */
static inline int64_t cotan_rem_i64(int64_t a, int64_t b)
{
    if (b == 0 || b == -1)
        return 0;
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/*@ shifts i64 */
/* Shifts by a negative number go the other way. */
static inline int64_t cotan_shift_right_i64(int64_t a, int64_t n)
{
    if (n < 0)
        return n > -64 ? cotan_i64((uint64_t)a << -n) : 0;
    if (n > 63)
        n = 63;
    return a < 0 ? ~cotan_i64(~(uint64_t)a >> n) : a >> n;
}

static inline int64_t cotan_shift_left_i64(int64_t a, int64_t n)
{
    if (n < 0)
        return cotan_shift_right_i64(a, n > -64 ? -n : 63);
    return n < 64 ? cotan_i64((uint64_t)a << n) : 0;
}

static inline int64_t cotan_shift_right_zero_i64(int64_t a, int64_t n)
{
    if (n < 0)
        return n > -64 ? cotan_i64((uint64_t)a << -n) : 0;
    return n < 64 ? cotan_i64((uint64_t)a >> n) : 0;
}

/*@ popcount */
static inline int64_t cotan_popcount_i64(int64_t a)
{
    uint64_t x = (uint64_t)a;
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (int64_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

/*@ clz popcount i64 */
static inline int64_t cotan_clz_i64(int64_t a)
{
    uint64_t x = (uint64_t)a;
    for (int n = 1; n < 64; n *= 2)
        x |= x >> n;
    return 64 - cotan_popcount_i64(cotan_i64(x));
}

/*@ ctz popcount i64 */
static inline int64_t cotan_ctz_i64(int64_t a)
{
    const uint64_t x = (uint64_t)a;
    return cotan_popcount_i64(cotan_i64(~x & (x - 1)));
}

/*@ int_pow i64 */
/* A power by repeated squaring; a negative one is rounded towards 0. */
static inline int64_t cotan_int_pow_i64(int64_t a, int64_t n)
{
    if (n < 0)
        return a == 1 ? 1 : a == -1 ? (n % 2 != 0 ? -1 : 1) : 0;
    uint64_t base = (uint64_t)a, y = 1;
    for (; n > 0; n >>= 1) {
        if (n & 1)
            y *= base;
        base *= base;
    }
    return cotan_i64(y);
}

/*@ powi */
static inline double cotan_powi_f64(double a, int64_t n)
{
    uint64_t m = n < 0 ? -(uint64_t)n : (uint64_t)n;
    double base = a, y = 1.0;
    for (; m > 0; m >>= 1) {
        if (m & 1)
            y *= base;
        base *= base;
    }
    return n < 0 ? 1.0 / y : y;
}

/*@ rounding bits_f64 from_bits_f64 */
/* Numbers from 2^52 on are integers, so adding it rounds. The sign of x stays that of a zero. */
static inline double cotan_round_f64(double x)
{
    const uint64_t sign = UINT64_C(1) << 63;
    const double two52 = 4503599627370496.0;
    const double size = cotan_from_bits_f64(cotan_bits_f64(x) & ~sign);
    const double rounded = (size + two52) - two52;
    const uint64_t bits = cotan_bits_f64(rounded) | (cotan_bits_f64(x) & sign);
    return size < two52 ? cotan_from_bits_f64(bits) : x;
}

static inline double cotan_floor_f64(double x)
{
    const double y = cotan_round_f64(x);
    return y > x ? y - 1.0 : y;
}

static inline double cotan_ceil_f64(double x)
{
    const double y = cotan_round_f64(x);
    const uint64_t sign = cotan_bits_f64(x) & UINT64_C(1) << 63;
    /* From -1 to 0 it is -0. */
    return y < x ? cotan_from_bits_f64(cotan_bits_f64(y + 1.0) | sign) : y;
}

static inline double cotan_trunc_f64(double x)
{
    return x < 0 ? cotan_ceil_f64(x) : cotan_floor_f64(x);
}

/*@ fmod bits_f64 from_bits_f64 */
/* The remainder of the quotient rounded towards 0, exactly: one bit of the quotient at a time. */
static inline double cotan_fmod_f64(double a, double b)
{
    const uint64_t sign = UINT64_C(1) << 63, one = UINT64_C(1) << 52;
    const uint64_t bits_a = cotan_bits_f64(a) & ~sign, bits_b = cotan_bits_f64(b) & ~sign;
    const uint64_t infinite = UINT64_C(2047) << 52;
    if (bits_a >= infinite || bits_b > infinite || bits_b == 0)
        return (a * b) / (a * b);
    if (bits_a < bits_b)
        return a;
    int exponent_a = (int)(bits_a >> 52), exponent_b = (int)(bits_b >> 52);
    uint64_t m_a = bits_a & (one - 1), m_b = bits_b & (one - 1);
    if (exponent_a)
        m_a |= one;
    else
        exponent_a = 1;
    if (exponent_b)
        m_b |= one;
    else
        exponent_b = 1;
    /* Both have at most 53 bits, so doubling does not overflow. */
    for (;;) {
        if (m_a >= m_b)
            m_a %= m_b;
        if (exponent_a == exponent_b || m_a == 0)
            break;
        const int left = exponent_a - exponent_b;
        const int step = left < 11 ? left : 11;
        m_a <<= step;
        exponent_a -= step;
    }
    if (m_a == 0)
        return cotan_from_bits_f64(cotan_bits_f64(a) & sign);
    while (m_a < one && exponent_b > 1) {
        m_a <<= 1;
        exponent_b -= 1;
    }
    const uint64_t exponent = m_a < one ? 0 : (uint64_t)exponent_b;
    return cotan_from_bits_f64((cotan_bits_f64(a) & sign) | exponent << 52 | (m_a & (one - 1)));
}

/*@ rem_f64 fmod */
/* The remainder with the sign of the divisor. */
static inline double cotan_rem_f64(double a, double b)
{
    const double r = cotan_fmod_f64(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/*@ to_i64 */
/* Rounds towards 0 and saturates; 0 for NaN. */
static inline int64_t cotan_to_i64(double x)
{
    const double two63 = 9223372036854775808.0;
    return x >= two63 ? INT64_MAX : x < -two63 ? INT64_MIN : x == x ? (int64_t)x : 0;
}

/*@ to_bits bits_f64 i64 */
/* The bits of a float; those of every NaN are the same. */
static inline int64_t cotan_to_bits(double x)
{
    return x == x ? cotan_i64(cotan_bits_f64(x)) : INT64_C(0x7ff8000000000000);
}

/*@ lanes_f64 mul_add */
/* Numbers side by side: compilers keep them in vector registers. */
typedef struct { double x[8]; } cotan_lanes_f64;

static inline cotan_lanes_f64 cotan_lanes_add_f64(cotan_lanes_f64 a, cotan_lanes_f64 b)
{
    for (int l = 0; l < 8; ++l)
        a.x[l] += b.x[l];
    return a;
}

static inline double cotan_lanes_sum_f64(cotan_lanes_f64 a)
{
    return ((a.x[0] + a.x[4]) + (a.x[2] + a.x[6])) + ((a.x[1] + a.x[5]) + (a.x[3] + a.x[7]));
}

/*@ lanes_f32 mul_add */
typedef struct { float x[16]; } cotan_lanes_f32;

static inline cotan_lanes_f32 cotan_lanes_add_f32(cotan_lanes_f32 a, cotan_lanes_f32 b)
{
    for (int l = 0; l < 16; ++l)
        a.x[l] += b.x[l];
    return a;
}

static inline float cotan_lanes_sum_f32(cotan_lanes_f32 a)
{
    for (int half = 8; half > 0; half /= 2)
        for (int l = 0; l < half; ++l)
            a.x[l] += a.x[l + half];
    return a.x[0];
}

/*@ tile_f64 lanes_f64 */
/* A tile of 6 rows and 16 columns: the sums of products of the elements of rows, which are `step`
   apart, and of a panel. */
static inline cotan_lanes_f64 cotan_lanes_load_f64(const double *from)
{
    cotan_lanes_f64 a;
    for (int l = 0; l < 8; ++l)
        a.x[l] = from[l];
    return a;
}

static inline cotan_lanes_f64 cotan_lanes_mul_add_f64(double a, cotan_lanes_f64 b,
                                                      cotan_lanes_f64 sum)
{
    for (int l = 0; l < 8; ++l)
        sum.x[l] = cotan_mul_add_f64(a, b.x[l], sum.x[l]);
    return sum;
}

static inline void cotan_lanes_store_f64(double *to, cotan_lanes_f64 a)
{
    for (int l = 0; l < 8; ++l)
        to[l] = a.x[l];
}

static void cotan_tile_f64(const double *const *rows, ptrdiff_t step, const double *restrict panel,
                           ptrdiff_t depth, double *restrict sums)
{
    const double *const row0 = rows[0], *const row1 = rows[1], *const row2 = rows[2];
    const double *const row3 = rows[3], *const row4 = rows[4], *const row5 = rows[5];
    cotan_lanes_f64 a0 = {{0}}, b0 = {{0}};
    cotan_lanes_f64 a1 = {{0}}, b1 = {{0}};
    cotan_lanes_f64 a2 = {{0}}, b2 = {{0}};
    cotan_lanes_f64 a3 = {{0}}, b3 = {{0}};
    cotan_lanes_f64 a4 = {{0}}, b4 = {{0}};
    cotan_lanes_f64 a5 = {{0}}, b5 = {{0}};
    for (ptrdiff_t k = 0; k < depth; ++k) {
        const cotan_lanes_f64 first = cotan_lanes_load_f64(panel + 16 * k);
        const cotan_lanes_f64 second = cotan_lanes_load_f64(panel + 16 * k + 8);
        a0 = cotan_lanes_mul_add_f64(row0[k * step], first, a0);
        b0 = cotan_lanes_mul_add_f64(row0[k * step], second, b0);
        a1 = cotan_lanes_mul_add_f64(row1[k * step], first, a1);
        b1 = cotan_lanes_mul_add_f64(row1[k * step], second, b1);
        a2 = cotan_lanes_mul_add_f64(row2[k * step], first, a2);
        b2 = cotan_lanes_mul_add_f64(row2[k * step], second, b2);
        a3 = cotan_lanes_mul_add_f64(row3[k * step], first, a3);
        b3 = cotan_lanes_mul_add_f64(row3[k * step], second, b3);
        a4 = cotan_lanes_mul_add_f64(row4[k * step], first, a4);
        b4 = cotan_lanes_mul_add_f64(row4[k * step], second, b4);
        a5 = cotan_lanes_mul_add_f64(row5[k * step], first, a5);
        b5 = cotan_lanes_mul_add_f64(row5[k * step], second, b5);
    }
    cotan_lanes_store_f64(sums + 0, a0);
    cotan_lanes_store_f64(sums + 8, b0);
    cotan_lanes_store_f64(sums + 16, a1);
    cotan_lanes_store_f64(sums + 24, b1);
    cotan_lanes_store_f64(sums + 32, a2);
    cotan_lanes_store_f64(sums + 40, b2);
    cotan_lanes_store_f64(sums + 48, a3);
    cotan_lanes_store_f64(sums + 56, b3);
    cotan_lanes_store_f64(sums + 64, a4);
    cotan_lanes_store_f64(sums + 72, b4);
    cotan_lanes_store_f64(sums + 80, a5);
    cotan_lanes_store_f64(sums + 88, b5);
}

/*@ tile_f32 lanes_f32 */
/* A tile of 6 rows and 32 columns: the sums of products of the elements of rows, which are `step`
   apart, and of a panel. */
static inline cotan_lanes_f32 cotan_lanes_load_f32(const float *from)
{
    cotan_lanes_f32 a;
    for (int l = 0; l < 16; ++l)
        a.x[l] = from[l];
    return a;
}

static inline cotan_lanes_f32 cotan_lanes_mul_add_f32(float a, cotan_lanes_f32 b,
                                                      cotan_lanes_f32 sum)
{
    for (int l = 0; l < 16; ++l)
        sum.x[l] = cotan_mul_add_f32(a, b.x[l], sum.x[l]);
    return sum;
}

static inline void cotan_lanes_store_f32(float *to, cotan_lanes_f32 a)
{
    for (int l = 0; l < 16; ++l)
        to[l] = a.x[l];
}

static void cotan_tile_f32(const float *const *rows, ptrdiff_t step, const float *restrict panel,
                           ptrdiff_t depth, float *restrict sums)
{
    const float *const row0 = rows[0], *const row1 = rows[1], *const row2 = rows[2];
    const float *const row3 = rows[3], *const row4 = rows[4], *const row5 = rows[5];
    cotan_lanes_f32 a0 = {{0}}, b0 = {{0}};
    cotan_lanes_f32 a1 = {{0}}, b1 = {{0}};
    cotan_lanes_f32 a2 = {{0}}, b2 = {{0}};
    cotan_lanes_f32 a3 = {{0}}, b3 = {{0}};
    cotan_lanes_f32 a4 = {{0}}, b4 = {{0}};
    cotan_lanes_f32 a5 = {{0}}, b5 = {{0}};
    for (ptrdiff_t k = 0; k < depth; ++k) {
        const cotan_lanes_f32 first = cotan_lanes_load_f32(panel + 32 * k);
        const cotan_lanes_f32 second = cotan_lanes_load_f32(panel + 32 * k + 16);
        a0 = cotan_lanes_mul_add_f32(row0[k * step], first, a0);
        b0 = cotan_lanes_mul_add_f32(row0[k * step], second, b0);
        a1 = cotan_lanes_mul_add_f32(row1[k * step], first, a1);
        b1 = cotan_lanes_mul_add_f32(row1[k * step], second, b1);
        a2 = cotan_lanes_mul_add_f32(row2[k * step], first, a2);
        b2 = cotan_lanes_mul_add_f32(row2[k * step], second, b2);
        a3 = cotan_lanes_mul_add_f32(row3[k * step], first, a3);
        b3 = cotan_lanes_mul_add_f32(row3[k * step], second, b3);
        a4 = cotan_lanes_mul_add_f32(row4[k * step], first, a4);
        b4 = cotan_lanes_mul_add_f32(row4[k * step], second, b4);
        a5 = cotan_lanes_mul_add_f32(row5[k * step], first, a5);
        b5 = cotan_lanes_mul_add_f32(row5[k * step], second, b5);
    }
    cotan_lanes_store_f32(sums + 0, a0);
    cotan_lanes_store_f32(sums + 16, b0);
    cotan_lanes_store_f32(sums + 32, a1);
    cotan_lanes_store_f32(sums + 48, b1);
    cotan_lanes_store_f32(sums + 64, a2);
    cotan_lanes_store_f32(sums + 80, b2);
    cotan_lanes_store_f32(sums + 96, a3);
    cotan_lanes_store_f32(sums + 112, b3);
    cotan_lanes_store_f32(sums + 128, a4);
    cotan_lanes_store_f32(sums + 144, b4);
    cotan_lanes_store_f32(sums + 160, a5);
    cotan_lanes_store_f32(sums + 176, b5);
}

/*@ finite_f64 */
/* Whether all numbers are finite: then 0 times each of them is 0. */
static bool cotan_finite_f64(const double *x, ptrdiff_t count)
{
    for (ptrdiff_t n = 0; n < count; n += 256) {
        const ptrdiff_t end = count - n < 256 ? count : n + 256;
        bool finite = true;
        for (ptrdiff_t k = n; k < end; ++k)
            finite &= x[k] - x[k] == 0;
        if (!finite)
            return false;
    }
    return true;
}

/*@ finite_f32 */
static bool cotan_finite_f32(const float *x, ptrdiff_t count)
{
    for (ptrdiff_t n = 0; n < count; n += 256) {
        const ptrdiff_t end = count - n < 256 ? count : n + 256;
        bool finite = true;
        for (ptrdiff_t k = n; k < end; ++k)
            finite &= x[k] - x[k] == 0;
        if (!finite)
            return false;
    }
    return true;
}

/*@ sort */
/* Puts the numbers of rows in the order of their keys, equals in their order: runs of two are merged,
   then of four, and so on. */
static void cotan_sort(const uint64_t *restrict keys, int64_t *restrict rows,
                       int64_t *restrict room, ptrdiff_t count)
{
    int64_t *from = rows, *to = room;
    for (ptrdiff_t n = 0; n < count; ++n)
        from[n] = (int64_t)n;
    for (ptrdiff_t run = 1; run < count; run *= 2) {
        for (ptrdiff_t begin = 0; begin < count; begin += 2 * run) {
            const ptrdiff_t middle = count - begin < run ? count : begin + run;
            const ptrdiff_t end = count - begin < 2 * run ? count : begin + 2 * run;
            ptrdiff_t a = begin, b = middle;
            for (ptrdiff_t n = begin; n < end; ++n) {
                const bool first = a < middle && (b == end || keys[from[a]] <= keys[from[b]]);
                to[n] = first ? from[a++] : from[b++];
            }
        }
        int64_t *const other = from;
        from = to;
        to = other;
    }
    if (from != rows)
        for (ptrdiff_t n = 0; n < count; ++n)
            rows[n] = from[n];
}

/*@ key_f64 bits_f64 */
/* A number of the same order, NaN last; 0 and -0 are one. */
static inline uint64_t cotan_key_f64(double x)
{
    const uint64_t top = UINT64_C(1) << 63, bits = cotan_bits_f64(x + 0.0);
    return x != x ? UINT64_MAX : bits & top ? ~bits : bits | top;
}

/*@ key_f32 key_f64 */
static inline uint64_t cotan_key_f32(float x)
{
    return cotan_key_f64((double)x);
}

/*@ key_i64 */
static inline uint64_t cotan_key_i64(int64_t x)
{
    return (uint64_t)x ^ UINT64_C(1) << 63;
}

/*@ key_bool */
static inline uint64_t cotan_key_bool(bool x)
{
    return x;
}

/*@ lgamma rounding constants */
/* log|Gamma(2 + z)| for -3/4 <= z <= 1/2. */
static double cotan_lgamma_near_two(double z)
{
    static const double c[25] = {
        0.42278433509846713, 0.3224670334241132, -0.0673523010531981, 0.020580808427784557,
        -0.007385551028673713, 0.002890510330740841, -0.0011927539117181768, 0.0005096695247632334,
        -0.0002231547580287092, 9.945751254098106e-05, -4.492624386630184e-05, 2.0507212517524156e-05,
        -9.43941347505539e-06, 4.374906583660434e-06, -2.039716059056738e-06, 9.54654605005328e-07,
        -4.4715874760919424e-07, 2.1504547762178742e-07, -1.053938959626937e-07, 3.74973005802158e-08,
        -1.81062087371478e-08, 2.952960616562811e-08, -7.995899597250956e-10, -1.1555545222787355e-08,
        -1.0998252606187326e-08
    };
    double y = 0.0;
    for (int n = 24; n >= 0; --n)
        y = y * z + c[n];
    return z * y;
}

/* log|Gamma(x)|, by the recurrence near 2 and by Stirling's series. */
static double cotan_lgamma_f64(double x)
{
    const double pi = 3.141592653589793;
    if (x != x)
        return x;
    if (x - x != 0.0 || (x <= 0.0 && x == cotan_floor_f64(x)))
        return cotan_inf_f64;
    double reflected = 0.0;
    const bool negative = x < 0.0;
    if (negative) {
        x = -x;
        double f = x - cotan_floor_f64(x);
        f = f > 0.5 ? 1.0 - f : f;
        reflected = cotan_log_f64(pi / (x * cotan_sin_f64(pi * f)));
    }
    double y;
    if (x < 0.5) {
        y = cotan_lgamma_near_two(x) - cotan_log1p_f64(x) - cotan_log_f64(x);
    } else if (x < 1.25) {
        y = cotan_lgamma_near_two(x - 1.0) - cotan_log_f64(x);
    } else if (x < 8.5) {
        double down = x, product = 1.0;
        while (down >= 2.5) {
            down -= 1.0;
            product *= down;
        }
        y = cotan_lgamma_near_two(down - 2.0) + cotan_log_f64(product);
    } else {
        const double z = 1.0 / (x * x);
        const double series =
            1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z * (1.0 / 1680.0 - z * (1.0 / 1188.0
            - z * (691.0 / 360360.0 - z * (1.0 / 156.0))))));
        y = (x - 0.5) * (cotan_log_f64(x) - 1.0) + (0.4189385332046727 + series / x);
    }
    return negative ? reflected - y : y;
}

/*@ digamma rounding constants */
/* tan(pi x), reduced before the multiplication. */
static double cotan_tan_pi(double x)
{
    return cotan_tan_f64(3.141592653589793 * (x - cotan_round_f64(x)));
}

/* The derivative of lgamma. */
static double cotan_digamma_f64(double x)
{
    if (x != x || x == -cotan_inf_f64 || (x <= 0.0 && x == cotan_floor_f64(x)))
        return cotan_nan_f64;
    const bool below = x < 0.5;
    const double reflected = below ? 3.141592653589793 / cotan_tan_pi(x) : 0.0;
    double shift = 0.0;
    x = below ? 1.0 - x : x;
    while (x < 10.0) {
        shift += 1.0 / x;
        x += 1.0;
    }
    const double z = 1.0 / (x * x);
    const double series =
        z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0
        - z * (691.0 / 32760.0 - z / 12.0))))));
    const double y = cotan_log_f64(x) - 0.5 / x - series - shift;
    return below ? y - reflected : y;
}

/*@ polygamma digamma */
/* The sum of (x + k)^-s over k >= 0, by Euler and Maclaurin. */
static double cotan_hurwitz_zeta(double s, double x)
{
    static const double c[10] = {
        1.0 / 12.0, -1.0 / 720.0, 1.0 / 30240.0, -1.0 / 1209600.0, 1.0 / 47900160.0,
        -691.0 / 1307674368000.0, 1.0 / 74724249600.0, -3617.0 / 10670622842880000.0,
        43867.0 / 5109094217170944000.0, -174611.0 / 802857662698291200000.0,
    };
    const int terms = x > 12.0 + s ? 0 : (int)(12.0 + s - x) + 1;
    double head = 0.0;
    for (int k = 0; k < terms; ++k)
        head += cotan_pow_f64(x + k, -s);
    const double a = x + terms;
    double tail = cotan_pow_f64(a, 1.0 - s) / (s - 1.0) + 0.5 * cotan_pow_f64(a, -s);
    double factor = s * cotan_pow_f64(a, -s - 1.0);
    for (int k = 0; k < 10; ++k) {
        tail += c[k] * factor;
        factor *= (s + 2.0 * k + 1.0) * (s + 2.0 * k + 2.0) / (a * a);
    }
    return head + tail;
}

/* pi times the n-th derivative of cot(pi x), as a polynomial of the cotangent. */
static double cotan_cot_derivative(int n, double x)
{
    double p[173] = {0.0, 1.0}, q[173];
    int degree = 1;
    for (int m = 0; m < n; ++m) {
        for (int k = 0; k <= degree + 1; ++k)
            q[k] = 0.0;
        for (int k = 1; k <= degree; ++k) {
            q[k - 1] -= k * p[k];
            q[k + 1] -= k * p[k];
        }
        degree += 1;
        for (int k = 0; k <= degree; ++k)
            p[k] = q[k];
    }
    const double c = 1.0 / cotan_tan_pi(x);
    double y = p[degree];
    for (int k = degree - 1; k >= 0; --k)
        y = y * c + p[k];
    return cotan_pow_f64(3.141592653589793, n + 1.0) * y;
}

/* The n-th derivative of digamma. */
static double cotan_polygamma_f64(int64_t n, double x)
{
    if (n == 0)
        return cotan_digamma_f64(x);
    if (n < 0 || x != x || x == -cotan_inf_f64 || (x <= 0.0 && x == cotan_floor_f64(x)))
        return cotan_nan_f64;
    const double sign = n % 2 == 0 ? -1.0 : 1.0;
    if (n > 170)
        return x > (double)n ? sign * 0.0 : sign * cotan_inf_f64;
    const bool below = x < 0.5;
    const double at = below ? 1.0 - x : x;
    double factorial = 1.0;
    for (int64_t k = 2; k <= n; ++k)
        factorial *= (double)k;
    const double y = sign * factorial * cotan_hurwitz_zeta((double)n + 1.0, at);
    return below ? sign * (-sign * cotan_cot_derivative((int)n, x) - y) : y;
}
