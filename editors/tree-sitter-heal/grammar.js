// The grammar of Heal for tree-sitter. It accepts what the parser of healc accepts; lang/parser says what it means. Names, comments
// and the `@` of attributes are read by src/scanner.c.

const list = (item) => optional(seq(item, repeat(seq(',', item)), optional(',')));
const several = (item) => seq(item, repeat1(seq(',', item)), optional(','));

// Names that mean more at some places.
const words = ($) => [$._axis, $._keep, $._init, $._split, $._by, $._on, $._sharded];

// One to six hexadecimal digits in braces, up to 10ffff and without d800 to dfff.
const codePoint = (() => {
  const h = '[0-9a-fA-F]', four = `([0-9a-ce-fA-CE-F]${h}{3}|[dD][0-7]${h}{2})`, five = `([1-9a-fA-F]${h}{4}|0${four})`;
  return new RegExp(`\\\\u\\{(${h}{1,3}|${four}|${five}|0${five}|10${h}{4})\\}`);
})();

// The levels of binary operators, from the loosest.
const LOWEST = -1, PIPE = 1, OR = 5, AND = 6, COMPARE = 10, RANGE = 15, SUM = 20, PRODUCT = 30, MATMUL = 35, PREFIX = 37, POWER = 38,
  POSTFIX = 40;

module.exports = grammar({
  name: 'heal',

  externals: ($) => [$.block_comment, $._attribute_mark, $.identifier, ...words($), $._never],
  extras: ($) => [/[ \t\r\n]/, /\uFEFF/, $.line_comment, $.block_comment],
  supertypes: ($) => [$._declaration, $._statement, $._type],
  conflicts: ($) => [
    [$._atom, $._target],
    [$._atom, $._folded],
    [$.array, $.options],
    [$._name, $.options],
    [$._name, $.range_index],
  ],

  rules: {
    source_file: ($) => repeat($._declaration),

    line_comment: () => token(seq('#', /[^\n]*/)),

    _declaration: ($) => choice($.function, $.constant, $.import, $.test),

    function: ($) => seq(repeat($.attribute), optional(seq('pub', repeat($.attribute))), 'fn', field('name', $._name),
      optional(seq('[', list($.generic), ']')), '(', list($.parameter), ')', optional(seq('->', field('result', $._type))),
      choice(seq('=', field('body', $._expression)), field('body', $.block))),
    attribute: ($) => prec.right(seq(alias($._attribute_mark, '@'), field('name', $._name), optional(seq('(', list($._expression), ')')))),
    generic: ($) => seq(field('name', $._name), optional(seq(':', field('bound', $._name), optional(seq('[', $._name, ']'))))),
    parameter: ($) => seq(field('name', $._name), ':', optional(seq('&', 'mut')), field('type', $._type)),
    constant: ($) => seq(optional('pub'), 'const', field('name', $._name), ':', field('type', $._type), '=', field('value', $._expression)),
    import: ($) => seq('import', choice(field('module', $._name), field('path', $.string)), optional(seq('as', field('alias', $._name)))),
    test: ($) => seq('test', field('name', $.string), field('body', $.block)),

    // Types. That of a cast has no words behind it.
    _type: ($) => choice($.tensor_type, $.tuple_type),
    tensor_type: ($) => seq($._element, optional(seq('in', field('layout', $._name))),
      optional(seq(alias($._on, 'on'), field('place', $._name))),
      optional(seq(alias($._sharded, 'sharded'), '(', $._expression, ')'))),
    _element: ($) => prec.right(seq(field('element', alias(choice($.identifier, ...words($)), $.type_identifier)),
      optional(seq('[', list($._expression), ']')))),
    tuple_type: ($) => seq('(', optional(several($._type)), ')'),
    _cast_type: ($) => prec.right(choice(alias($._element, $.tensor_type), $.tuple_type)),

    // Statements.
    block: ($) => seq('{', repeat($._statement), optional(choice($._expression, alias($._last_return, $.return))), '}'),
    _statement: ($) => choice($.let, $.assignment, $.return, $.expression_statement),
    let: ($) => seq('let', optional('mut'), field('pattern', $._pattern), optional(seq(':', field('type', $._type))), '=',
      field('value', $._expression), ';'),
    assignment: ($) => seq(field('target', $._target), field('operator', choice('=', '+=', '-=', '*=', '/=', '.+=', '.-=', '.*=', './=')),
      field('value', $._expression), ';'),
    _target: ($) => choice($._name, alias($.index_target, $.index)),
    index_target: ($) => seq($._target, '[', list($._index_item), ']'),
    return: ($) => seq('return', optional($._expression), ';'),
    _last_return: ($) => seq('return', optional($._expression)),
    expression_statement: ($) => choice(seq($._expression, ';'), prec(LOWEST, $._block_like)),
    _pattern: ($) => choice($._name, $.tuple_pattern),
    tuple_pattern: ($) => seq('(', optional(several($._pattern)), ')'),

    // Expressions, a rule for each level that does not associate.
    _expression: ($) => choice($.pipe, $._logical),
    pipe: ($) => prec.left(PIPE, seq($._expression, '|>', choice($._name, $.member, $.call))),
    _logical: ($) => choice(alias($.logical, $.binary), $._comparison),
    logical: ($) => choice(
      prec.left(OR, seq($._logical, field('operator', choice('||', '.||')), $._logical)),
      prec.left(AND, seq($._logical, field('operator', choice('&&', '.&&')), $._logical))),
    _comparison: ($) => choice(alias($.comparison, $.binary), $._range),
    comparison: ($) => prec(COMPARE, seq($._range,
      field('operator', choice('==', '!=', '<', '<=', '>', '>=', '.==', '.!=', '.<', '.<=', '.>', '.>=')), $._range)),
    _range: ($) => choice($.range, $._sum),
    range: ($) => prec(RANGE, seq($._sum, choice('..', '..='), $._sum)),
    _sum: ($) => choice($.binary, $.unary, $.reduction, $.fold, $._simple),
    binary: ($) => choice(
      prec.left(SUM, seq($._sum, field('operator', choice('+', '-', '.+', '.-', '++')), $._sum)),
      prec.left(PRODUCT, seq($._sum, field('operator', choice('*', '/', '%', '.*', './', '.%')), $._sum)),
      prec.left(MATMUL, seq($._sum, field('operator', '@'), optional(alias($.split, $.options)), $._sum)),
      prec.right(POWER, seq($._simple, field('operator', '.^'), $._sum))),
    unary: ($) => prec(PREFIX, seq(field('operator', choice('-', '!')), $._sum)),
    reduction: ($) => prec(PREFIX, seq(field('operator', choice('+/', '-/', '*/', '//', '&&/', '||/')), optional($.options), $._sum)),
    // Without options it is a division to those who do not know what the names are.
    fold: ($) => prec(PREFIX, seq($._folded, $._sum)),
    _folded: ($) => seq(field('function', choice($._name, $.parenthesized)), '/', $.options),
    options: ($) => seq('[', list(choice(seq(choice(alias($._axis, 'axis'), alias($._init, 'init')), '=', $._expression),
      alias($._keep, 'keep'))), ']'),
    split: ($) => seq('[', alias($._split, 'split'), '=', $._expression, optional(','), ']'),

    _simple: ($) => choice($._postfix, $._block_like),
    _block_like: ($) => choice($.block, $.if, $.match),
    _postfix: ($) => choice($._atom, $.call, $.index, $.member, $.cast),
    _atom: ($) => choice($._name, $.integer, $.float, $.char, $.string, $.boolean, $.parenthesized, $.tuple, $.array, $.lambda,
      $.let_in),
    call: ($) => prec(POSTFIX, seq(field('function', $._postfix), '(', list($.argument), ')')),
    argument: ($) => choice($._expression, seq(field('name', $._name), '=', $._expression)),
    index: ($) => prec(POSTFIX, seq($._postfix, '[', list($._index_item), ']')),
    _index_item: ($) => choice($._expression, $.range_index),
    range_index: ($) => choice(
      seq(optional($._sum), choice('..', '..=')),
      seq('..', $._sum), seq('..=', $._sum),
      seq(optional($._sum), choice('..', '..='), optional($._sum), alias($._by, 'by'), $._sum)),
    member: ($) => prec(POSTFIX, seq(field('module', $._name), '.', field('name', $._name))),
    cast: ($) => prec(POSTFIX, seq($._postfix, 'as', field('type', $._cast_type))),
    parenthesized: ($) => seq('(', $._expression, ')'),
    tuple: ($) => seq('(', optional(several($._expression)), ')'),
    array: ($) => seq('[', list($._expression), ']'),
    lambda: ($) => prec.right(LOWEST, seq('|', $._pattern, repeat(seq(',', $._pattern)), '|', field('body', $._expression))),
    let_in: ($) => prec.right(LOWEST, seq('let', field('pattern', $._pattern), optional(seq(':', field('type', $._type))), '=',
      field('value', $._expression), 'in', field('body', $._expression))),
    if: ($) => prec.right(seq('if', field('condition', $._expression), $.block, optional(seq('else', choice($.block, $.if))))),
    match: ($) => seq('match', $._expression, '{', repeat($._arm_before), optional(alias($.last_arm, $.arm)), '}'),
    _arm_before: ($) => choice(seq($.arm, ','), alias($.block_arm, $.arm)),
    arm: ($) => $._any_arm,
    last_arm: ($) => $._any_arm,
    _any_arm: ($) => seq($._arm_head, field('body', $._expression)),
    block_arm: ($) => prec(LOWEST, seq($._arm_head, field('body', $.block))),
    _arm_head: ($) => seq(field('pattern', $._arm_pattern), optional(seq('if', field('guard', $._expression))), '=>'),
    _arm_pattern: ($) => choice(seq(optional('-'), choice($.integer, $.float)), $.char, $.string, $._name, $.boolean),

    _name: ($) => choice($.identifier, alias(choice(...words($)), $.identifier)),
    boolean: () => choice('true', 'false'),
    integer: () => token(seq(choice(/[0-9](_*[0-9])*/, /0[xX][0-9a-fA-F](_*[0-9a-fA-F])*/), optional(/_[iu](8|16|32|64)/))),
    float: () => token(seq(/[0-9](_*[0-9])*/, choice(seq(/\.[0-9](_*[0-9])*/, optional(/[eE][+-]?[0-9](_*[0-9])*/)),
      /[eE][+-]?[0-9](_*[0-9])*/), optional(/_(f16|bf16|f32|f64)/))),
    string: () => token(seq('"', repeat(choice(/[^"\\\n]/, /\\[ntr0\\'"]/, /\\x[0-9a-fA-F]{2}/, codePoint)), '"')),
    char: () => token(seq("'", choice(/[^'\\\n]/, /\\[ntr0\\'"]/, /\\x[0-9a-fA-F]{2}/, codePoint), "'")),
  },
});
