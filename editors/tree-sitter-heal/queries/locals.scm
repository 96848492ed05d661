[(function) (test) (block) (lambda) (let_in) (arm)] @local.scope

(function name: (identifier) @local.definition.function)
(constant name: (identifier) @local.definition.constant)
(import module: (identifier) @local.definition.import)
(import alias: (identifier) @local.definition.import)
(generic name: (identifier) @local.definition.type)
(parameter name: (identifier) @local.definition.parameter)
(let pattern: (identifier) @local.definition.var)
(let_in pattern: (identifier) @local.definition.var)
(lambda . (identifier) @local.definition.parameter)
(tuple_pattern (identifier) @local.definition.var)
(arm pattern: (identifier) @local.definition.var)

(identifier) @local.reference
(type_identifier) @local.reference
