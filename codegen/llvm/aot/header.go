package aot

import (
	_ "embed" // for mpi.h
	"fmt"
	"slices"
	"strings"

	"healc/codegen/llvm/aot/names"
	"healc/lang/types"
)

var cTypes = map[types.DType]string{
	types.Bool: "uint8_t", types.I8: "int8_t", types.I16: "int16_t", types.I32: "int32_t", types.I64: "int64_t",
	types.U8: "uint8_t", types.U16: "uint16_t", types.U32: "uint32_t", types.U64: "uint64_t",
	types.F16: "uint16_t", types.BF16: "uint16_t", types.F32: "float", types.F64: "double",
	types.F8E4M3: "uint8_t", types.F8E5M2: "uint8_t", types.E8M0: "uint8_t",
	types.I4: "int8_t", types.F4E2M1: "uint8_t",
}

// Header is the C header of a library.
func Header(l *Library) string {
	var b strings.Builder
	guard := names.Guard(l.Prefix)
	fmt.Fprintf(&b,
		"/* "+Mark+". The functions of a library may be called from several threads at once. */\n#ifndef %s\n"+
			"#define %s\n#include <stdint.h>\n", guard, guard)
	b.WriteString("#ifdef __cplusplus\nextern \"C\" {\n#endif\n")
	b.WriteString(common())
	text, own := ownText, names.Own
	if l.ForRanks() {
		text, own = text+clusterHeader+mpiHeader, slices.Concat(names.Own, names.OfRanks)
		b.WriteString(clusterType)
	}
	b.WriteString(owned(l.Prefix, text, own))
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
		"\n#ifndef HEAL_TYPES\n#define HEAL_TYPES\n\n" +
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

/* A tensor. Strides are in elements and may be 0 or negative; NULL strides are row-major. data is the address of
   the element whose indices are 0. A scalar has no shape: NULL. */
typedef struct heal_tensor {
  void *data;
  const int64_t *shape;
  const int64_t *strides;
} heal_tensor;

typedef void (*heal_task)(void *context_, int64_t begin_, int64_t end_);
typedef void (*heal_parallel_for)(void *user_, int64_t n_, int64_t grain_, heal_task task_, void *context_);

#endif
`)
	return b.String()
}

// ownText declares the functions of names.Own, with heal_ in the place of the library's name.
const ownText = `
/* The message of the last failure of this library on the calling thread, with the place in the program. */
const char *heal_last_error(void);

/* The number of threads that one call uses, the caller's included; 0 is HEAL_THREADS, or else one for each
   processor. Threads are started when they are first needed. Results do not depend on it. */
void heal_set_threads(int32_t threads_);
int32_t heal_get_threads(void);

/* Lets the host run parallel loops instead of the library's own threads. The function has to call
   task(context, begin, end) for pieces that make up [0, n), each index once and each begin a multiple of grain, on
   any threads, and return when all calls have returned. NULL gives the library's own threads back. */
void heal_set_parallel_for(heal_parallel_for run_, void *user_);

/* The kind of processor whose code is in use, such as avx2. heal_use_cpu chooses another one that the library has
   code for; the results are the same. It must not be called while another function runs. */
const char *heal_cpu(void);
int32_t heal_use_cpu(const char *name_);

/* From here on, calls by this thread are stopped when *flag_ is not 0, wherever they are: they return HEAL_STOPPED,
   some milliseconds after it is set. Anybody may set it: another thread, a handler of a signal. Who wants further
   calls sets it to 0 again. It has to be there until the thread gives another one, or NULL: then its calls run to
   their end. The first flag starts a thread and takes a real-time signal that nobody uses; a child of fork gives its
   flag again. */
void heal_stoppable(const volatile int32_t *flag_);

/* Calls function_, one of those that take tensors, so that SIGINT stops it, too, if it is called on the program's
   first thread and the program has a handler for SIGINT, which is called as ever. */
int32_t heal_interruptible(int32_t (*function_)(const heal_tensor *, const heal_tensor *),
    const heal_tensor *arguments_, const heal_tensor *results_);

/* Memory for intermediate results is kept for the next call; this frees it. */
void heal_release_memory(void);
`

// clusterType is what headers for several ranks share.
const clusterType = `
#ifndef HEAL_CLUSTER
#define HEAL_CLUSTER

/* What ranks exchange bytes by. All ranks make the same calls in the same order. Each returns 0, or another number for
   a failure. */
typedef struct heal_cluster {
  void *context; /* is given to all of them */
  int32_t rank, size;
  /* Gives every rank the parts of all: that of rank r is counts_[r] bytes, behind those of the ranks before. That of
     this rank is there. */
  int32_t (*all_gather)(void *context_, void *all_, const int64_t *counts_);
  /* Sends to_[r] bytes to each rank r, one part behind the other, and receives from_[r] bytes of each; its own, too. */
  int32_t (*all_to_all)(void *context_, const void *send_, const int64_t *to_, void *receive_, const int64_t *from_);
  /* Sends to one rank and receives from another; -1 is nobody. */
  int32_t (*send_receive)(void *context_, const void *send_, int64_t bytes_, int32_t to_, void *receive_,
      int64_t length_, int32_t from_);
  /* Is told when a function returns anything but HEAL_OK on this rank: others may wait for it, and have to be ended.
     It may be NULL, where the caller does that. */
  void (*abort)(void *context_, int32_t code_, const char *message_);
} heal_cluster;

#endif
`

// clusterHeader declares functions of names.OfRanks, with heal_ in the place of the library's name.
const clusterHeader = `
/* Says by what ranks exchange, before the first call of a function whose tensors are sharded. *cluster_ is copied, and
   its context has to stay. NULL is a run of one rank. All ranks call it, and compare their libraries: HEAL_RANKS where
   these differ, and where there is no code for so many ranks. */
int32_t heal_set_cluster(const heal_cluster *cluster_);

/* How many elements of an axis of this extent a rank has of a sharded tensor, and in *begin_ the first of them. */
int64_t heal_block_of(int64_t extent_, int32_t rank_, int32_t ranks_, int64_t *begin_);
`

//go:embed mpi.h
var mpiHeader string

// owned declares the functions that a library has. While a program includes the header of one library, they have
// names without the library's, too; with the second header these names go, since they could mean either.
func owned(prefix, text string, own []string) string {
	defines, undefs := "", ""
	for _, name := range own {
		text = strings.ReplaceAll(text, "heal_"+name, names.OwnC(prefix, name))
		defines += fmt.Sprintf("#define heal_%s %s\n", name, names.OwnC(prefix, name))
		undefs += fmt.Sprintf("#undef heal_%s\n", name)
	}
	return text + "\n/* Shorter names, where a file includes the header of one library alone. */\n" +
		"#ifndef HEAL_ONE_LIBRARY\n#define HEAL_ONE_LIBRARY\n" + defines + "#else\n" + undefs + "#endif\n"
}

// declarations are the two functions of an entry.
func declarations(prefix string, e *Entry) string {
	var b strings.Builder
	n := names.NewLocals(names.InC)
	var args, order, outs []string
	for _, d := range e.Dims {
		args = append(args, "int64_t "+n.Take(d))
	}
	for _, p := range e.Params {
		name := n.Take(p.Name)
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
		name := n.Take(resultName(e, i))
		args = append(args, cTypes[r.Elem]+" *"+name)
		outs = append(outs, fmt.Sprintf("%s: %s", name, bare(r)))
	}
	if len(args) == 0 {
		args = []string{"void"}
	}
	name := names.C(prefix, e.Name)
	of := ""
	if e.Ranks != nil {
		var numbers []string
		for _, r := range e.Ranks {
			if r.Rank == 0 {
				numbers = append(numbers, fmt.Sprint(r.Size))
			}
		}
		of = fmt.Sprintf("   There is code for %s ranks. What is sharded is the block of this rank (%s).\n",
			strings.Join(numbers, ", "), names.OwnC(prefix, "block_of"))
	}
	fmt.Fprintf(&b,
		"\n/* %s\n%s   Tensors are row-major. What is written must not share memory with another argument. */\n",
		strings.ReplaceAll(e.Signature, "*/", "* /"), of)
	fmt.Fprintf(&b, "int32_t %s(%s);\n", name, strings.Join(args, ", "))
	strides := "for any strides"
	if e.Ranks != nil {
		strides = "for results of any strides"
	}
	fmt.Fprintf(&b, "/* The same %s, with all shapes checked. arguments_: %s; results_: %s */\n", strides, list(order),
		list(outs))
	fmt.Fprintf(&b, "int32_t %s(const heal_tensor *arguments_, const heal_tensor *results_);\n", name+names.Tensors)
	return b.String()
}

func bare(t types.Tensor) string { return types.Bare(t).String() }

func list(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ", ")
}
