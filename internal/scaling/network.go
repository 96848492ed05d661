package scaling

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Network is the model of a network with two numbers (alpha-beta model; Hockney, 1994): a message of n bytes takes
// Latency + n / Bandwidth seconds. A rank sends and receives at the same time.
type Network struct {
	Bandwidth float64 // of a rank each way, in bytes a second
	Latency   float64 // of a message, in seconds
}

// DefaultNetwork is a port of 200 Gbit/s.
var DefaultNetwork = Network{Bandwidth: 25e9, Latency: 2e-6}

// units of what ParseNetwork reads. Bits have a small b.
var (
	bandwidths = []struct {
		unit  string
		bytes float64
	}{{"TB/s", 1e12}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"GiB/s", 1 << 30}, {"MiB/s", 1 << 20}, {"Tbit/s", 1e12 / 8},
		{"Gbit/s", 1e9 / 8}, {"Mbit/s", 1e6 / 8}}
	latencies = []struct {
		unit    string
		seconds float64
	}{{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}}
)

// ParseNetwork reads a bandwidth and a latency, as in 25GB/s,2us.
func ParseNetwork(text string) (Network, error) {
	band, late, ok := strings.Cut(text, ",")
	if !ok {
		return Network{}, fmt.Errorf("`%s` is no bandwidth and latency with a comma between them", text)
	}
	var n Network
	var err error
	if n.Bandwidth, err = ParseBandwidth(band); err != nil {
		return n, err
	}
	var units []string
	ok = false
	for _, u := range latencies {
		units = append(units, u.unit)
		if v, is := number(late, u.unit); is {
			n.Latency, ok = v*u.seconds, true
		}
	}
	if strings.TrimSpace(late) == "0" {
		ok = true
	}
	if !ok {
		return n, fmt.Errorf("`%s` is no latency: a number and one of %s, or 0", late, strings.Join(units, " "))
	}
	return n, nil
}

// ParseBandwidth reads a bandwidth, as in 25GB/s, in bytes a second.
func ParseBandwidth(text string) (float64, error) {
	var units []string
	for _, u := range bandwidths {
		units = append(units, u.unit)
		if v, ok := number(text, u.unit); ok && v > 0 {
			return v * u.bytes, nil
		}
	}
	return 0, fmt.Errorf("`%s` is no bandwidth: a number above 0 and one of %s", text, strings.Join(units, " "))
}

// number is what stands before a unit, if it is a number that is not negative.
func number(text, unit string) (float64, bool) {
	before, ok := strings.CutSuffix(strings.TrimSpace(text), unit)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(before), 64)
	return v, err == nil && v >= 0 && !math.IsInf(v, 0)
}

// gathered is how many messages follow each other until every rank has all parts, and how many bytes the slowest rank
// moves: what ranks have is doubled in each round (Bruck et al., 1997; Thakur, Rabenseifner, Gropp, 2005), so that each
// gets every byte once, and a part that is longer than others goes through all rounds.
func gathered(ranks int, all, shortest, longest int64) (rounds, bytes int64) {
	if ranks == 1 || all == 0 {
		return 0, 0
	}
	rounds = int64(bits.Len(uint(ranks - 1)))
	return rounds, max(all-shortest, rounds*longest)
}
