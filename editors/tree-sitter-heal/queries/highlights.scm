; What comes later counts more.

(identifier) @variable
(type_identifier) @type
[(line_comment) (block_comment)] @comment
(string) @string
(char) @character
(integer) @number
(float) @number.float
(boolean) @boolean

["fn" "const" "let" "mut" "pub" "test"] @keyword
["import" "as"] @keyword.import
["if" "else" "match"] @keyword.conditional
"return" @keyword.return
["in" "axis" "keep" "init" "split" "by" "on" "sharded"] @keyword

["+" "-" "*" "/" "%" ".+" ".-" ".*" "./" ".%" ".^" "@" "++"
 "==" "!=" "<" "<=" ">" ">=" ".==" ".!=" ".<" ".<=" ".>" ".>=" "&&" "||" ".&&" ".||" "!"
 "=" "+=" "-=" "*=" "/=" ".+=" ".-=" ".*=" "./="
 "+/" "-/" "*/" "//" "&&/" "||/" "|>" ".." "..=" "->" "=>" "&"] @operator
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["," ";" ":" "."] @punctuation.delimiter
(lambda "|" @punctuation.bracket)

(function name: (identifier) @function)
(constant name: (identifier) @constant)
(generic name: (identifier) @type)
(generic bound: (identifier) @type)
(parameter name: (identifier) @variable.parameter)
(import module: (identifier) @module)
(import alias: (identifier) @module)
(attribute "@" @attribute name: (identifier) @attribute)
(tensor_type layout: (identifier) @attribute)
(tensor_type place: (identifier) @attribute)
(call function: (identifier) @function.call)
(call function: (index . (identifier) @function.call))
(fold function: (identifier) @function.call)
(pipe (identifier) @function.call .)
(member module: (identifier) @module)
(member name: (identifier) @function.call)
(argument name: (identifier) @variable.parameter)
