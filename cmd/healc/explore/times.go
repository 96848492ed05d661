package explore

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"healc/cmd/healc/driver"
)

// Times are those of a kernel in a run, in microseconds.
type Times struct {
	Launches int     `json:"launches"`
	Total    float64 `json:"total"`
	Least    float64 `json:"least"`
}

// timesOf reads how long each kernel took from the file that `healc run --trace` writes, by their names; "" for none.
func timesOf(name string) (map[string]*Times, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, driver.NoFile(name, err)
	} else if err != nil {
		return nil, err
	}
	var trace struct {
		TraceEvents []struct {
			Name     string  `json:"name"`
			Category string  `json:"cat"`
			Duration float64 `json:"dur"`
		} `json:"traceEvents"`
	}
	if err := json.Unmarshal(text, &trace); err != nil {
		return nil, &driver.UsageError{Message: name + " is no trace of `healc run --trace`: " + err.Error()}
	}
	out := map[string]*Times{}
	for _, e := range trace.TraceEvents {
		if e.Category != "kernel" {
			continue
		}
		t := out[e.Name]
		if t == nil {
			t = &Times{Least: e.Duration}
			out[e.Name] = t
		}
		t.Launches++
		t.Total += e.Duration
		t.Least = min(t.Least, e.Duration)
	}
	if len(out) == 0 {
		return nil, &driver.UsageError{Message: name + " has no kernel",
			Help: "it is the file that `healc run --trace` writes"}
	}
	return out, nil
}
