" Vim syntax file
" Language: Heal

if exists("b:current_syntax")
  finish
endif

" declarations
syn keyword healDeclaration fn const let mut pub import test
" control
syn keyword healControl if else match in as return
" constants
syn keyword healBoolean true false
" types
syn keyword healType bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2 e8m0 i4 f4e2m1 unit string
" bounds
syn keyword healBound any float int nat num tuple
" functions
syn keyword healBuiltin abs acos all any argmax argmin argsort asin assert assert_close assert_eq atan atan2 axis_modsum band bitcast bnot bor bxor cbrt ceil checkpoint clamp clz concat cos cosh cumprod cumsum custom_vjp each erf exp exp2 expand expm1 eye flatten flip floor fma fold fourier fourier_real fourier_real_inverse full g_decomposition g_decomposition_full gelu grad intt iota is_finite is_inf is_nan iterate iterate_until jvp len like load_npy log log10 log1p log2 map matmul max mean min mod modinv modmul modmul_axis_sum modneg modpow modsub modsum moveaxis neg ntt ntt_length one_hot ones pad permute permute_axes popcount pow print print_f32 print_f64 print_i32 print_i64 print_str prod relu repeat replicate require reshape reshard roll round rsqrt save_npy save_pgm save_png scan scatter_add shl shr sigmoid sign silu sin sinh softplus sort split sqrt squeeze stack stop_gradient sum tabulate take_along_axis tan tanh to_device to_host to_unified transpose trunc unsqueeze value_and_grad var vjp where zeros

syn match healFunction "\%(\<fn\s\+\)\@<=\h\w*"
syn match healAttribute "@\%(io\|kernel\|grad\)\>"
syn match healNumber "\<\%(0x[0-9A-Fa-f_]\+\|\d[0-9_]*\%(\.\d[0-9_]*\)\?\%([eE][+-]\?\d\+\)\?\)\%(_\%([iu]\%(8\|16\|32\|64\)\|b\?f\%(16\|32\|64\)\)\)\?\>"
syn match healOperator "[-+*/%^@!=<>|&.]\+"
syn match healEscape contained "\\\%(x\x\{2}\|u{\x\+}\|.\)"
syn region healString start=+"+ skip=+\\.+ end=+"\|$+ contains=healEscape
syn match healCharacter "'\%([^'\\]\|\\\%(x\x\{2}\|u{\x\+}\|.\)\)'"
syn keyword healTodo contained TODO FIXME NOTE
syn match healComment "#.*$" contains=healTodo,@Spell
syn region healBlockComment start="/\*" end="\*/" contains=healBlockComment,healTodo,@Spell

hi def link healDeclaration Keyword
hi def link healControl Conditional
hi def link healBoolean Boolean
hi def link healType Type
hi def link healBound Type
hi def link healBuiltin Function
hi def link healFunction Identifier
hi def link healAttribute PreProc
hi def link healNumber Number
hi def link healOperator Operator
hi def link healEscape SpecialChar
hi def link healString String
hi def link healCharacter Character
hi def link healTodo Todo
hi def link healComment Comment
hi def link healBlockComment Comment

let b:current_syntax = "heal"
