package driver

import (
	"math"
	"strconv"
	"strings"

	heal "healc"
	"healc/internal/pipeline"
	"healc/runtime"
	"healc/runtime/checkpoint"
)

// everySteps is after how many steps the state of a loop is kept, unless the option says it.
const everySteps = 100

// checkpoints reads the options of checkpoints, and opens the file that the run goes on from.
func (j *Job) checkpoints(ended func() error) error {
	if j.Checkpoint == "" {
		return nil
	}
	if j.Opts.Backend != heal.CPU && j.Opts.Backend != heal.Interp {
		return &UsageError{Message: "unsupported: --checkpoint with --backend " + j.Opts.Backend,
			Help: "the states of loops are kept where they run on the processor"}
	}
	path, every := j.Checkpoint, int64(everySteps)
	if i := strings.LastIndex(path, ",every="); i >= 0 {
		n, err := strconv.ParseInt(strings.ReplaceAll(path[i+len(",every="):], "_", ""), 10, 64)
		if err != nil || n < 1 || n > math.MaxInt32 {
			return Usagef("--checkpoint %s: every takes a number of steps from 1 to %d", j.Checkpoint, math.MaxInt32)
		}
		path, every = path[:i], n
	}
	if path == "" {
		return Usagef("--checkpoint %s: the path is missing", j.Checkpoint)
	}
	entry := j.Instance()
	if entry == "" {
		entry = "main"
	}
	j.Opts.Checkpoints = &pipeline.Checkpoints{Entry: entry, Every: int32(every)}
	f := checkpoint.New(inDir(j.Dir, path), runtime.SharedFiles(runtime.OS{Ended: ended}))
	if j.Resume {
		if err := f.Resume(); err != nil {
			return err
		}
	}
	j.Opts.Checkpoint = f
	return nil
}
