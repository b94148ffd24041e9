package transform

import (
	"context"
	"syscall"
	"testing"

	"github.com/shardify/shardify"
)

// cpu is the processor time of the process so far, in seconds: on a machine with other
// work it says more than the clock.
func cpu() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// BenchmarkTransforms reports decoded bytes a second of processor time. The bytes are
// those of the fields that a transform touches, see each line.
func BenchmarkTransforms(b *testing.B) {
	const samples = 20000
	const lists = "Jet_pt:f32*9@Jet,Jet_eta:f32*9@Jet,Jet_phi:f32*9@Jet,Jet_mass:f32*9@Jet"
	const flat = "a:f32,b:f32,c:f32,d:f32,e:f64,f:f64,g:i64,h:u16"
	for _, c := range []struct {
		name, schema string
		tr           func() (shardify.Transform, error)
	}{
		{"where/half", flat, func() (shardify.Transform, error) { return New(Where, "a > 0", nil) }},
		{"where/lists", lists, func() (shardify.Transform, error) { return New(Where, "len(Jet_pt) > 4 && any(Jet_eta > 0)", nil) }},
		{"define/scalar", "a:f32,b:f32", func() (shardify.Transform, error) { return New(Define, "z=a*a+b*b > 1 ? a : b", nil) }},
		{"define/sum", "Jet_pt:f32*9@Jet", func() (shardify.Transform, error) { return New(Define, "ht=sum(Jet_pt)", nil) }},
		{"define/mjj", lists, func() (shardify.Transform, error) {
			return New(Define, "mjj=sqrt(2*Jet_pt[0]*Jet_pt[1]*(cosh(Jet_eta[0]-Jet_eta[1])-cos(Jet_phi[0]-Jet_phi[1]))) ?? 0", nil)
		}},
		{"set", flat, func() (shardify.Transform, error) { return New(Set, "label=1", nil) }},
		{"fraction", flat, func() (shardify.Transform, error) { return New(Fraction, "0.5", nil) }},
		{"nan/none", "a:f32,b:f64", func() (shardify.Transform, error) { return New(NaN, "fail", nil) }},
		{"cast/f64-f32", "a:f64[4]", func() (shardify.Transform, error) { return New(Cast, "*=f32", nil) }},
		{"cast/f32-f16", "a:f32[4]", func() (shardify.Transform, error) { return New(Cast, "*=f16", nil) }},
		{"cast/f32-bf16", "a:f32[4]", func() (shardify.Transform, error) { return New(Cast, "*=bf16", nil) }},
		{"cast/i64-i32", "a:i64[4]", func() (shardify.Transform, error) { return New(Cast, "a=i32:clip", nil) }},
		{"encode/text", "a:txt*3", func() (shardify.Transform, error) { return New(Encode, "a", nil) }},
		{"encode/int", "a:u8", func() (shardify.Transform, error) { return New(Encode, "a", nil) }},
		{"sort", lists, func() (shardify.Transform, error) { return New(Sort, "Jet=-Jet_pt", nil) }},
		{"stack", lists, func() (shardify.Transform, error) { return New(Stack, "jets=Jet_pt,Jet_eta,Jet_phi,Jet_mass", nil) }},
		{"pad", "jets:f32*9[4]", func() (shardify.Transform, error) { return New(Pad, "jets=8", nil) }},
		{"pack", "a:f32,b:f32,c:f32,d:f32,e:f32,f:f32,g:f32,h:f32", func() (shardify.Transform, error) { return New(Pack, "x=*", nil) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			tr, err := c.tr()
			if err != nil {
				b.Fatal(err)
			}
			pool := shardify.NewPool(1 << 30)
			grant := func() *shardify.Arena {
				a, err := pool.Grant(context.Background(), 1<<20)
				if err != nil {
					b.Fatal(err)
				}
				return a
			}
			in := invent(b, c.schema, samples, grant())
			if _, err := tr.Schema(schemaOf(in)); err != nil {
				b.Fatal(err)
			}
			if s, ok := tr.(shardify.Surveyor); ok {
				v := s.NewSurvey()
				if err := v.Add(in); err != nil {
					b.Fatal(err)
				}
				r, err := v.Result()
				if err == nil {
					err = s.Learn(r)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			start := cpu()
			for b.Loop() {
				mem := grant()
				if _, err := tr.Apply(in, seed, mem); err != nil {
					b.Fatal(err)
				}
				mem.Release()
			}
			used := cpu() - start
			b.ReportMetric(float64(in.Bytes())*float64(b.N)/used/1e9, "GB/cpu-s")
			b.ReportMetric(used*1e9/float64(b.N)/samples, "cpu-ns/sample")
		})
	}
}
