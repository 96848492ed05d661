package scaling_test

import (
	"math"
	"strings"
	"testing"

	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/internal/scaling"
	"healc/passes/shard"
	"healc/runtime/abi"
)

func TestParseNetwork(t *testing.T) {
	for text, want := range map[string]scaling.Network{
		"25GB/s,2us":         {Bandwidth: 25e9, Latency: 2e-6},
		"200Gbit/s, 1.5 µs":  {Bandwidth: 25e9, Latency: 1.5e-6},
		"1GiB/s,0":           {Bandwidth: 1 << 30},
		"117 MB/s,50us":      {Bandwidth: 117e6, Latency: 50e-6},
		"1e-3TB/s,0.25ms":    {Bandwidth: 1e9, Latency: 250e-6},
		"12.5MiB/s,900ns":    {Bandwidth: 12.5 * (1 << 20), Latency: 900e-9},
		"0.8 Tbit/s, 0.5 us": {Bandwidth: 100e9, Latency: 500e-9},
	} {
		got, err := scaling.ParseNetwork(text)
		if err != nil || !near(got.Bandwidth, want.Bandwidth) || !near(got.Latency, want.Latency) {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"25GB/s":       "with a comma between them",
		"25,2us":       "`25` is no bandwidth",
		"25Gb/s,2us":   "one of TB/s GB/s",
		"0GB/s,2us":    "a number above 0",
		"-1GB/s,2us":   "no bandwidth",
		"NaNGB/s,2us":  "no bandwidth",
		"infGB/s,2us":  "no bandwidth",
		"25GB/s,2":     "`2` is no latency",
		"25GB/s,2s":    "one of ns us",
		"25GB/s,-1us":  "no latency",
		"25GB/s,":      "no latency",
		"25GB/s,2us,3": "no latency",
	} {
		if n, err := scaling.ParseNetwork(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is %v, %v", text, n, err)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// A machine of which one can count: an operation takes 1 ns and a byte 1 ns, a message 1 us, and 1 ns for each byte.
var threads = profile.Threads{OpTime: 1000, ByteTime: 1000, RegionTime: 1000}

func predict(t *testing.T, ranks int, source string, change func(s *scaling.Setting)) *scaling.Prediction {
	t.Helper()
	m, err := engine.Compile(source, engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	s := scaling.Setting{Ranks: ranks, Threads: 1, Rounds: 1, Profile: &threads,
		Network: scaling.Network{Bandwidth: 1e9, Latency: 1e-6}, Moves: func(*abi.Launch) float64 { return 0 }}
	if change != nil {
		change(&s)
	}
	km, err := m.ForRank(shard.Ranks{Rank: s.Rank(), Size: ranks}).Kernels("f", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := scaling.Predict(km.Plan, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestMessages: what ranks send, and how long it takes, of programs that one can count by hand.
func TestMessages(t *testing.T) {
	const replicated = "pub fn f(x: f64[1600, 4] sharded(0)) -> f64[1600, 4] = replicate(x)"
	for _, c := range []struct {
		name, source       string
		ranks              int
		sent, sends        int64 // of all ranks together
		bandwidth, latency float64
		atMost             bool
	}{
		{name: "alone", source: replicated, ranks: 1},
		{name: "gather", source: replicated, ranks: 16, sent: 15 * 51200, sends: 16 * 15,
			bandwidth: 48000e-9, latency: 15e-6},
		{name: "long", source: "pub fn f(x: u8[1048576] sharded(0)) -> u8[1048576] = replicate(x)", ranks: 16,
			sent: 15 << 20, sends: 16 * 15, bandwidth: 983040e-9, latency: 15e-6},
		{name: "one has all", source: "pub fn f(x: u8[1, 100] sharded(0)) -> u8[1, 100] = replicate(x)", ranks: 9,
			sent: 800, sends: 8, bandwidth: 800e-9, latency: 8e-6},
		{name: "halo", source: `pub fn f(x: f64[64, 10] sharded(0)) -> f64[64, 10] = replicate(iterate(5, x, |u| {
    let mut next = u;
    next[1..63, 0..10] = u[0..62, 0..10] + u[2..64, 0..10];
    next
}))`, ranks: 4, sent: 5*6*80 + 3*5120, sends: 5*6 + 4*3, bandwidth: 5*160e-9 + 3840e-9, latency: 5*2e-6 + 3e-6},
		{name: "all to all", source: `pub fn f(x: f32[32, 64] sharded(0)) -> f32[32, 64] =
    replicate(reshard(x, 1))`, ranks: 4, sent: 3*2048 + 3*8192, sends: 4*3 + 4*3,
			bandwidth: 1536e-9 + 6144e-9, latency: 3e-6 + 3e-6},
		{name: "in order", source: `pub fn f(x: f64[4, 50] sharded(1)) -> f64[4] = (|a, b| a * 0.5 + b)/[axis = 1](x)`,
			ranks: 5, sent: 4*32 + 4*160, sends: 4 + 5*4, bandwidth: 4*32e-9 + 128e-9, latency: 4e-6 + 4e-6},
		{name: "requests", source: `pub fn f(x: f32[100] sharded(0), i: i32[40] sharded(0)) -> f32[40] =
    replicate(x[i])`, ranks: 2, sent: 2*(16+20*4+20*4) + 160, sends: 2*3 + 2,
			bandwidth: 16e-9 + 80e-9 + 80e-9, latency: 3e-6 + 1e-6, atMost: true},
		{name: "requests in two rounds", source: `pub fn f(x: u16[1048576] sharded(0), i: i32[1048576] sharded(0)) ->
    u16[1048576] = replicate(x[i])`, ranks: 2, sent: 2*(32+1<<19*(4+2)) + 2<<20, sends: 2*6 + 2,
			bandwidth: 32e-9 + 1<<18*6e-9 + 1<<20*1e-9, latency: 6e-6 + 1e-6, atMost: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := predict(t, c.ranks, c.source, func(s *scaling.Setting) {
				s.Profile = &profile.Threads{RegionTime: 1000} // kernels take no time, and hide nothing
			})
			var sent, received scaling.Traffic
			for _, r := range p.Ranks {
				sent.Sent, sent.Sends = sent.Sent+r.Sent, sent.Sends+r.Sends
				received.Received, received.Receives = received.Received+r.Received, received.Receives+r.Receives
			}
			if sent.Sent != c.sent || sent.Sends != c.sends || p.AtMost != c.atMost || p.Unknown || p.Guessed {
				t.Errorf("%d bytes in %d messages are sent (%v), want %d in %d", sent.Sent, sent.Sends, p.AtMost,
					c.sent, c.sends)
			}
			if received.Received != sent.Sent || received.Receives != sent.Sends {
				t.Errorf("what is sent is not what is received: %v, %v", sent, received)
			}
			latency := p.Time.Latency - float64(p.Meetings)*p.Meeting.Latency
			if p.Meetings != 3 || math.Abs(latency-c.latency) > 1e-12 {
				t.Errorf("the latency is %v, want %v; %d meetings", latency, c.latency, p.Meetings)
			}
			if math.Abs(p.Time.Bandwidth-c.bandwidth) > 1e-12 {
				t.Errorf("the bandwidth takes %v, want %v", p.Time.Bandwidth, c.bandwidth)
			}
		})
	}
}

// TestTimes: kernels share threads, come from memory where they are large, wait where the order is that of the ranks,
// and count as often as loops run.
func TestTimes(t *testing.T) {
	const long = "pub fn f(x: f32[100000] sharded(0)) -> f32 = max/(x * 2.0)"
	one := predict(t, 2, long, nil)
	two := predict(t, 2, long, func(s *scaling.Setting) { s.Threads = 2 })
	a, b := one.Time.Arithmetic+one.Time.Memory, two.Time.Arithmetic+two.Time.Memory
	if a < 1e-6 || a > 2.01*b || a < b {
		t.Errorf("one thread takes %v, two %v", a, b)
	}
	slow := predict(t, 2, long, func(s *scaling.Setting) {
		s.Moves, s.Near, s.Memory = func(*abi.Launch) float64 { return 1e6 }, 1e6-1, 1e3
	})
	if got := slow.Time.Memory / 1e3; math.Round(got) < 1 || slow.Time.Limit() != "memory bandwidth" {
		t.Errorf("a kernel of 1 MB takes %v s from memory of 1 kB/s, the limit is %s", slow.Time.Memory,
			slow.Time.Limit())
	}
	cached := predict(t, 2, long, func(s *scaling.Setting) {
		s.Moves, s.Near, s.Memory = func(*abi.Launch) float64 { return 1e6 }, 1e6, 1e3
	})
	if cached.Time != one.Time {
		t.Errorf("what is near takes %v, not %v", cached.Time, one.Time)
	}

	const counted = `pub fn f(x: f32[800] sharded(0), n: i32) -> f32 = +/(iterate(n, x, |y| y * 0.5 + max/(y)))`
	once := predict(t, 4, counted, nil)
	ten := predict(t, 4, counted, func(s *scaling.Setting) { s.Rounds = 10 })
	if d := ten.Ranks[0].Sends - once.Ranks[0].Sends; !ten.Guessed || d != 9*3 {
		t.Errorf("nine rounds more are %d messages more, guessed %v", d, ten.Guessed)
	}
	arms := `pub fn f(x: f32[800] sharded(0), n: i32) -> f32 = if n > 1 { +/(x) } else { x[3] }`
	if p := predict(t, 4, arms, nil); !p.AtMost || p.Most().Sends != 3 {
		t.Errorf("of two arms one is taken: %+v", p.Most())
	}

	// A halo is hidden behind the rows that need nothing of it, as far as these take long enough.
	const heat = `pub fn f(x: f64[400, 1000] sharded(0)) -> f64[400, 1000] sharded(0) = iterate(10, x, |u| {
    let mut next = u;
    next[1..399, 0..1000] = u[0..398, 0..1000] + u[2..400, 0..1000];
    next
})`
	near, far := predict(t, 4, heat, nil), predict(t, 4, heat, func(s *scaling.Setting) { s.Network.Latency = 10 })
	if near.Hidden == 0 || far.Hidden < near.Hidden || far.Time.Latency < 10*20-1 {
		t.Errorf("%v s of halos are hidden, and %v s of slow ones; %+v", near.Hidden, far.Hidden, far.Time)
	}
	for _, r := range near.Rows {
		if r.Step.Host != nil && r.Step.Host.Name == "exchange_halo" && r.Time.Total() > 1e-15 {
			t.Errorf("a halo takes %v beside a kernel that is longer", r.Time)
		}
	}

	// What ranks do one after the other takes as long with each number of them.
	const order = `pub fn f(x: f32[80000] sharded(0)) -> f32 = (|a, b| a * 0.5 + b)/(x)`
	few, many := predict(t, 2, order, nil), predict(t, 8, order, nil)
	if r := many.Time.Arithmetic / few.Time.Arithmetic; r < 0.9 || r > 1.2 {
		t.Errorf("eight ranks take %v times as long as two, one after the other", r)
	}
	if p := predict(t, 4, `@io fn g(n: i32) -> i32 = if n < 1 { 0 } else { print(n); g(n - 1) }
@io pub fn f(x: f32[8] sharded(0)) -> f32 = {
    let n = g(2);
    +/(x) * (n as f32)
}`, nil); !p.Unknown || p.Most().Sends != 3 {
		t.Errorf("a function that calls itself is known (%v), or the rest is not: %+v", p.Unknown, p.Most())
	}
	if p := predict(t, 1, `fn g(n: i32) -> i32 = if n < 1 { 0 } else { n + g(n / 2) }
pub fn f(n: i32[8]) -> i32[8] = map(g, n)`, nil); !p.Open || p.Unknown {
		t.Errorf("how long a kernel takes is known: %+v", p)
	}
}

// TestMemory: a rank holds the inputs, its parts, and what it exchanges.
func TestMemory(t *testing.T) {
	const whole = 8 * 1600 * 400
	source := "pub fn f(x: f64[1600, 400] sharded(0)) -> f64[400, 1600] sharded(0) = reshard(transpose(x + 1.0), 0)"
	one, four := predict(t, 1, source, nil), predict(t, 4, source, nil)
	if one.Memory < 2*whole || one.Memory > 2.1*whole {
		t.Errorf("one rank has %d bytes", one.Memory)
	}
	// The input and the result are whole, a part is computed, and there is what is sent and received.
	if least := int64(2*whole + 4*whole/4); four.Memory < least-whole/50 || four.Memory > least+whole {
		t.Errorf("a rank of four has %d bytes, not about %d", four.Memory, least)
	}
}
