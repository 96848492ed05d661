package passes

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"healc/ir"
)

// Dump writes what stages leave, for people who debug the compiler; other stages than passes (bufferize,
// llvm) write to it as well. A nil *Dump writes nothing.
type Dump struct {
	Func   string   // only this function, or "" for all
	Stages []string // which stages; "all" for every one
	Dir    string   // a file for each stage here, named by number and stage; "" writes to Out
	Out    io.Writer
	count  int
}

// DumpFromEnv reads HEAL_DUMP: a folder, or stages as in `layer:fuse,bufferize` or `fuse`, where the part
// before the colon names a function. A folder means all stages, one file each; HEAL_DUMP_DIR sends
// chosen stages to files. It returns nil when HEAL_DUMP is not set.
func DumpFromEnv(out io.Writer) *Dump {
	return parseDump(os.Getenv("HEAL_DUMP"), os.Getenv("HEAL_DUMP_DIR"), out)
}

func parseDump(spec, dir string, out io.Writer) *Dump {
	if spec == "" {
		return nil
	}
	if strings.ContainsRune(spec, filepath.Separator) || isDir(spec) {
		return &Dump{Stages: []string{"all"}, Dir: spec, Out: out}
	}
	d := &Dump{Dir: dir, Out: out}
	fn, stages, ok := strings.Cut(spec, ":")
	if !ok {
		fn, stages = "", spec
	}
	d.Func, d.Stages = fn, strings.Split(stages, ",")
	return d
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (d *Dump) wants(stage string) bool {
	return d != nil && (slices.Contains(d.Stages, stage) || slices.Contains(d.Stages, "all"))
}

func (d *Dump) text(m *ir.Module) string { return funcText(m, d.Func) }

// Write writes the text of a stage, if it is asked for. ext is the extension of the file, without a dot.
func (d *Dump) Write(stage, ext, text string) error {
	if !d.wants(stage) {
		return nil
	}
	d.count++
	if d.Dir == "" {
		if d.Out != nil {
			fmt.Fprintf(d.Out, "// dump of %s\n%s\n", stage, text)
		}
		return nil
	}
	if err := os.MkdirAll(d.Dir, 0o755); err != nil {
		return fmt.Errorf("dumping %s: %w", stage, err)
	}
	name := fmt.Sprintf("%02d_%s.%s", d.count, stage, ext)
	if d.Func != "" {
		name = d.Func + "_" + name
	}
	if err := os.WriteFile(filepath.Join(d.Dir, name), []byte(text), 0o644); err != nil {
		return fmt.Errorf("dumping %s: %w", stage, err)
	}
	return nil
}
