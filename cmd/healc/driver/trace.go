package driver

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	heal "healc"
	"healc/internal/pipeline"
	"healc/runtime/trace"
)

// record starts to record what the job does, when it has a file for that. The file is there from then on, and is
// written by the function that is returned, whether the program has failed or not.
func (j *Job) record() (write func() error, err error) {
	if j.Trace == "" {
		return func() error { return nil }, nil
	}
	if j.Opts.Backend == heal.Interp {
		return nil, &UsageError{Message: "--trace records kernels, and the interpreter has none",
			Help: "leave out --backend interp, or --trace"}
	}
	path := j.Trace
	to := trace.New()
	if c := j.Opts.Cluster; c != nil && c.Size() > 1 {
		ext := filepath.Ext(path)
		path = fmt.Sprintf("%s.%d%s", strings.TrimSuffix(path, ext), c.Rank(), ext)
		to.Process(c.Rank(), fmt.Sprintf("rank %d", c.Rank()))
	}
	if j.Dir != "" && !filepath.IsAbs(path) {
		path = filepath.Join(j.Dir, path)
	}
	if there, err := os.Stat(path); err == nil {
		if source, err := os.Stat(j.File.Name); err == nil && os.SameFile(there, source) {
			return nil, &UsageError{Message: "--trace " + j.Trace + " is the program", Help: "give another file"}
		}
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, fmt.Errorf("--trace: %w", err)
	}
	if j.Opts.Debug.Timer == nil {
		j.Opts.Debug.Timer = &pipeline.Timer{}
	}
	j.Opts.Trace = to
	const kind = "stages"
	told := j.Opts.Debug.Timer.Each
	j.Opts.Debug.Timer.Each = func(name string) func() {
		track, start, ended := to.Take(kind), time.Now(), func() {}
		if told != nil {
			ended = told(name)
		}
		return func() {
			ended()
			to.Since(start, track, "stage", name)
			to.Give(kind, track)
		}
	}
	return func() error {
		w := bufio.NewWriter(file)
		err := to.Write(w)
		if err == nil {
			err = w.Flush()
		}
		if cerr := file.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("--trace: %w", err)
		}
		return nil
	}, nil
}
