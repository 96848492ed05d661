package aot

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"healc/codegen/llvm/aot/names"
)

// Note [Code for ranks]
//
// An entry that says how tensors are cut has the code of each rank of each number of ranks that the library is made
// for: in what each sends, receives and computes all lengths are known. A function looks which rank it is, and calls
// the code of that one. Arguments and results that are sharded are the blocks of the rank. What is exchanged goes by
// functions of the host, which set_cluster takes.

// ForRanks reports that there is code for several ranks.
func (l *Library) ForRanks() bool {
	return slices.ContainsFunc(l.Entries, func(e *Entry) bool { return e.Ranks != nil })
}

// cluster writes what all functions of ranks share.
func (w *writer) cluster(l *Library) {
	w.b.WriteString(w.owned(clusterText))
	sum := sha256.New()
	sizes := map[int]bool{}
	for _, e := range l.Entries {
		for _, r := range e.Ranks {
			sizes[r.Size] = true
			fmt.Fprintf(sum, "%s %d %d\n%s", e.Name, r.Rank, r.Size, r.Code)
		}
	}
	fmt.Fprintf(&w.b, "@heal.identity = internal constant i64 %d\n", int64(binary.LittleEndian.Uint64(sum.Sum(nil))))
	e := newEmitter()
	has := "false"
	for size := range l.most() {
		if sizes[size+1] {
			has = e.v("or i1 %s, %s", has, e.v("icmp eq i32 %%size, %d", size+1))
		}
	}
	e.do("ret i1 %s", has)
	fmt.Fprintf(&w.b, "define internal i1 @heal.sized(i32 %%size) {\n%s}\n", e.body.String())
}

// most is the largest number of ranks that there is code for.
func (l *Library) most() (n int) {
	for _, e := range l.Entries {
		for _, r := range e.Ranks {
			n = max(n, r.Size)
		}
	}
	return n
}

// onRanks writes the two C functions of an entry with code for ranks, by way of those of each rank.
func (w *writer) onRanks(e *Entry) {
	for i, r := range e.Ranks {
		one := &Entry{Name: e.Name, Params: r.Params, Results: r.Results, Ranks: e.Ranks}
		w.direct(one, i, fmt.Sprintf("internal i32 @heal.direct.%s.%d", e.Name, i))
		w.checked(one, i, fmt.Sprintf("internal i32 @heal.checked.%s.%d", e.Name, i))
	}
	var args []string
	for i, p := range e.Params {
		if p.byValue() {
			args = append(args, fmt.Sprintf("%s %%a%d", memType(p.Type.Elem), i))
		} else {
			args = append(args, fmt.Sprintf("ptr %%a%d", i))
		}
	}
	for i := range e.Results {
		args = append(args, fmt.Sprintf("ptr %%r%d", i))
	}
	name := names.C(w.prefix, e.Name)
	w.byRank(e, name, "heal.direct", strings.Join(args, ", "))
	w.byRank(e, name+names.Tensors, "heal.checked", "ptr %args, ptr %results")
}

// byRank writes a C function that calls that of the rank it is.
func (w *writer) byRank(e *Entry, name, of, args string) {
	f := newEmitter()
	part := func(offset int) string {
		return f.v("load i32, ptr %s, align 4", f.v("getelementptr i8, ptr @heal.cluster, i64 %d", offset))
	}
	rank, size := part(8), part(12)
	refuse := func(format, value string) {
		f.v("call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr %s, i32 %s)", w.text(format),
			value)
		f.do("ret i32 %d", CodeRanks)
	}
	f.unless(f.v("icmp eq i32 %s, 0", size), func() {
		refuse(e.Name+": no cluster was set, see set_cluster", "0")
	})
	key := f.v("or i64 %s, %s", f.v("shl i64 %s, 32", f.v("zext i32 %s to i64", size)), f.v("zext i32 %s to i64", rank))
	none, after := f.label(), f.label()
	var list, codes []string
	labels := make([]string, len(e.Ranks))
	for i, r := range e.Ranks {
		labels[i] = f.label()
		list = append(list, fmt.Sprintf("i64 %d, label %%%s", int64(r.Size)<<32|int64(r.Rank), labels[i]))
	}
	f.do("switch i64 %s, label %%%s [%s]", key, none, strings.Join(list, " "))
	for i := range e.Ranks {
		f.at(labels[i])
		code := f.v("call i32 @%s.%s.%d(%s)", of, e.Name, i, args)
		f.jump(after)
		codes = append(codes, fmt.Sprintf("[ %s, %%%s ]", code, labels[i]))
	}
	f.at(none)
	refuse(e.Name+": there is no code for %d ranks", size)
	f.at(after)
	code := f.v("phi i32 %s", strings.Join(codes, ", "))
	failed, end := f.label(), f.label()
	f.branch(f.v("icmp eq i32 %s, 0", code), end, failed)
	f.at(failed)
	f.do("call void @heal.failed(i32 %s)", code)
	f.jump(end)
	f.at(end)
	f.do("ret i32 %s", code)
	fmt.Fprintf(&w.b, "define i32 @%s(%s) {\n%s%s}\n", name, args, f.head.String(), f.body.String())
}
