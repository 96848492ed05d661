package aot

import (
	"fmt"
	"strings"

	"healc/lang/types"
)

var cTypes = map[types.DType]string{
	types.Bool: "uint8_t", types.I8: "int8_t", types.I16: "int16_t", types.I32: "int32_t", types.I64: "int64_t",
	types.U8: "uint8_t", types.U16: "uint16_t", types.U32: "uint32_t", types.U64: "uint64_t",
	types.F16: "uint16_t", types.BF16: "uint16_t", types.F32: "float", types.F64: "double",
}

// Identifier makes a C identifier of a name: what cannot stand in one becomes an underscore.
func Identifier(name string) string {
	var b strings.Builder
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if letter || i > 0 && r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	return b.String()
}

// Symbol is the name of an entry's C function.
func Symbol(prefix, name string) string { return prefix + "_" + strings.Trim(Identifier(name), "_") }

// reserved are words that cannot name a parameter in C or C++.
var reserved = strings.Fields(
	`auto bool break case catch char class const continue default delete do double else enum explicit export extern
	false float for friend goto if inline int long mutable namespace new operator private protected public register restrict return short
	signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while and or not xor`)

// names makes distinct C names.
type names map[string]bool

func (n names) take(want string) string {
	name := strings.TrimLeft(Identifier(want), "_")
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "x" + name
	}
	for n[name] {
		name += "_"
	}
	n[name] = true
	return name
}

func newNames() names {
	n := names{}
	for _, w := range reserved {
		n[w] = true
	}
	return n
}

// Header is the C header of a library.
func Header(l *Library) string {
	var b strings.Builder
	guard := strings.ToUpper(l.Prefix) + "_H"
	fmt.Fprintf(&b,
		"/* Made by healc. The functions of a library may be called from several threads at once. */\n#ifndef %s\n"+
			"#define %s\n#include <stdint.h>\n", guard, guard)
	b.WriteString("#ifdef __cplusplus\nextern \"C\" {\n#endif\n")
	b.WriteString(common())
	for _, e := range l.Entries {
		b.WriteString(declarations(l.Prefix, e))
	}
	b.WriteString("\n#ifdef __cplusplus\n}\n#endif\n#endif\n")
	return b.String()
}

// common is what the headers of all libraries share.
func common() string {
	var b strings.Builder
	b.WriteString(
		"\n#ifndef HEAL_LIBRARY\n#define HEAL_LIBRARY\n\n" +
			"/* What every function returns. After anything but HEAL_OK the results are undefined. */\nenum {\n")
	for i, c := range codes {
		line := fmt.Sprintf("  %s = %d", c.name, i)
		if i < len(codes)-1 {
			line += ","
		}
		if c.doc != "" {
			line = fmt.Sprintf("%-30s/* %s */", line, c.doc)
		}
		b.WriteString(line + "\n")
	}
	b.WriteString(`};

/* The message of the last failure on the calling thread, with the place in the program. */
const char *heal_last_error(void);

/* A tensor. Strides are in elements and may be 0 or negative; NULL strides are row-major. data is the address of
   the element whose indices are 0. A scalar has no shape: NULL. */
typedef struct heal_tensor {
  void *data;
  const int64_t *shape;
  const int64_t *strides;
} heal_tensor;

/* The number of threads that one call uses, the caller's included; 0 is HEAL_THREADS, or else one for each
   processor. Threads are started when they are first needed. Results do not depend on it. */
void heal_set_threads(int32_t threads);
int32_t heal_get_threads(void);

/* Lets the host run parallel loops instead of the library's own threads. The function has to call
   task(context, begin, end) for pieces that make up [0, n), each index once and each begin a multiple of grain, on
   any threads, and return when all calls have returned. NULL gives the library's own threads back. */
typedef void (*heal_task)(void *context, int64_t begin, int64_t end);
typedef void (*heal_parallel_for)(void *user, int64_t n, int64_t grain, heal_task task, void *context);
void heal_set_parallel_for(heal_parallel_for run, void *user);

/* The kind of processor whose code is in use, such as avx2. heal_use_cpu chooses another one that the library has
   code for; the results are the same. It must not be called while another function runs. */
const char *heal_cpu(void);
int32_t heal_use_cpu(const char *name);

/* Memory for intermediate results is kept for the next call; this frees it. */
void heal_release_memory(void);

#endif
`)
	return b.String()
}

// declarations are the two functions of an entry.
func declarations(prefix string, e *Entry) string {
	var b strings.Builder
	n := newNames()
	var args, order, outs []string
	for _, d := range e.Dims {
		args = append(args, "int64_t "+n.take(d))
	}
	for _, p := range e.Params {
		name := n.take(p.Name)
		t := cTypes[p.Type.Elem]
		switch {
		case p.byValue():
			args = append(args, t+" "+name)
		case p.Update:
			args = append(args, t+" *"+name)
		default:
			args = append(args, "const "+t+" *"+name)
		}
		order = append(order, fmt.Sprintf("%s: %s", name, bare(p.Type)))
	}
	for i, r := range e.Results {
		name := n.take(resultName(e, i))
		args = append(args, cTypes[r.Elem]+" *"+name)
		outs = append(outs, fmt.Sprintf("%s: %s", name, bare(r)))
	}
	if len(args) == 0 {
		args = []string{"void"}
	}
	name := Symbol(prefix, e.Name)
	fmt.Fprintf(&b,
		"\n/* %s\n   Tensors are row-major. What is written must not share memory with another argument. */\n",
		strings.ReplaceAll(e.Signature, "*/", "* /"))
	fmt.Fprintf(&b, "int32_t %s(%s);\n", name, strings.Join(args, ", "))
	fmt.Fprintf(&b, "/* The same for any strides, with all shapes checked. arguments: %s; results: %s */\n",
		list(order), list(outs))
	fmt.Fprintf(&b, "int32_t %s_tensors(const heal_tensor *arguments, const heal_tensor *results);\n", name)
	return b.String()
}

func bare(t types.Tensor) string { return types.Bare(t).String() }

func list(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ", ")
}
