package hdf5

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardify/shardify"
	"github.com/shardify/shardify/format"
)

// rowsOf writes a jagged column as text, a row in brackets.
func rowsOf(c *shardify.Column) string {
	v, ends := values(c), c.Offsets[0]
	var rows []string
	for i := 1; i < len(ends); i++ {
		rows = append(rows, fmt.Sprint(v[ends[i-1]:ends[i]]))
	}
	return strings.Join(rows, " ")
}

func TestARowOfASparseMatrixIsASample(t *testing.T) {
	for _, c := range []struct {
		files   string
		columns []string
		fields  string
		group   string
		data    string
		indices string
	}{
		{"anndata.h5ad", nil, "X/data X/indices layers/counts/data layers/counts/indices obs/n", "X",
			"[0 1] [] [2 3 4 5 6] [7] [8 9 10] [] []", "[0 1] [] [2 3 4 0 1] [3] [4 0 1] [] []"},
		{"anndata.h5ad", nil, "X/data X/indices layers/counts/data layers/counts/indices obs/n", "layers/counts",
			"[] [] [0 1 2] [3] [4 5 6 7 8] [] [9 10]", "[] [] [2 3 4] [3] [4 0 1 2 3] [] [1 2]"},
		{"anndata.h5ad anndata_more.h5ad", []string{"X/*"}, "X/data X/indices", "X",
			"[0 1] [] [2 3 4 5 6] [7] [8 9 10] [] [] [] [0 1 2 3] [4]", "[0 1] [] [2 3 4 0 1] [3] [4 0 1] [] [] [] [1 2 3 4] [2]"},
		{"tenx.h5", nil, "matrix/barcodes matrix/data matrix/indices", "matrix", "[0 1 2] [3] [] [4 5]", "[0 1 2] [1] [] [3 4]"},
		{"sparse_old.h5ad", nil, "X/data X/indices", "X", "[0] [1 2]", "[0] [1 2]"},
	} {
		t.Run(c.files+c.group, func(t *testing.T) {
			s := mustLoad(t, strings.Fields(c.files), c.columns, nil)
			if got := strings.Join(s.order, " "); got != c.fields {
				t.Errorf("fields %s; left out %v", got, s.left)
			}
			data, indices := s.cols[c.group+"/data"], s.cols[c.group+"/indices"]
			if got := rowsOf(data); got != c.data {
				t.Errorf("data %s", got)
			}
			if got := rowsOf(indices); got != c.indices {
				t.Errorf("indices %s", got)
			}
			want := map[string]string{"matrix": "6", "X": "5", "layers/counts": "5"}[c.group]
			if c.files == "sparse_old.h5ad" {
				want = "3"
			}
			if data.Counter != c.group || indices.Counter != c.group || data.Attrs["sparse_columns"] != want {
				t.Errorf("counters %q, %q, attributes %v", data.Counter, indices.Counter, data.Attrs)
			}
		})
	}
	s := mustLoad(t, []string{"anndata.h5ad"}, nil, nil)
	if !strings.Contains(s.notes[0], "observations of AnnData") || !strings.Contains(strings.Join(s.notes, "\n"), "/X: a sparse matrix by rows: 7 rows, 5 columns, 11 values (31%)") {
		t.Errorf("said: %s", s.notes)
	}
	if s.left["varm/PCs"] == "" {
		t.Errorf("left out: %v", s.left)
	}
	if s := mustLoad(t, []string{"anndata.h5ad"}, []string{"X/indices"}, nil); s.samples != 7 || len(s.order) != 1 {
		t.Errorf("indices alone: %d samples of %v", s.samples, s.order)
	}
	whole := mustLoad(t, []string{"anndata.h5ad", "anndata_more.h5ad"}, nil, format.Options{"sample": "file"})
	if whole.samples != 2 || whole.cols["X/indptr"] == nil || rowsOf(whole.cols["X/indptr"]) != "[0 2 2 7 8 11 11 11] [0 0 4 5]" {
		t.Errorf("as files: %d samples of %v", whole.samples, whole.order)
	}
}

func TestSparseMatricesThatHaveNoRowsAreRefused(t *testing.T) {
	for _, columns := range [][]string{nil, {"X/data"}} {
		if _, err := load([]string{"anndata_csc.h5ad"}, columns, nil); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "tocsr()") {
			t.Errorf("columns %v of a matrix by columns: %v", columns, err)
		}
	}
	if _, err := load([]string{"mat_sparse.mat"}, nil, nil); !errors.Is(err, shardify.ErrUnsupported) || !strings.Contains(err.Error(), "sparse matrix stored by columns") {
		t.Errorf("of MATLAB: %v", err)
	}
	if s, err := load([]string{"mat_sparse.mat"}, nil, format.Options{"object": "/y"}); err != nil || s.samples != 5 {
		t.Errorf("the rest of MATLAB's file: %v", err)
	}
	for _, o := range []format.Options{{"object": "/obs"}, {"object": "/obs,/varm"}} {
		s, err := load([]string{"anndata_csc.h5ad"}, []string{"obs/n"}, o)
		if err != nil || s.samples != 7 {
			t.Errorf("the rest of the file: %v", err)
		}
	}
	if _, err := load([]string{"anndata.h5ad", "sparse_old.h5ad"}, []string{"X/*"}, nil); !errors.Is(err, shardify.ErrSchema) || !strings.Contains(err.Error(), "no AnnData, as other inputs are") {
		t.Errorf("matrices of other columns: %v", err)
	}
}

// TestDamagedSparseMatricesGiveNoRows: what the survey sees ends it, unless the matrix is
// excluded; what a row shows is an error with its sample.
func TestDamagedSparseMatricesGiveNoRows(t *testing.T) {
	for group, why := range map[string]string{
		"late": "from 1 to 5", "early": "from 0 to 4", "behind": "from 0 to 6", "few": "4 x 3 with 5 data, 5 indices and 4 indptr",
		"uneven": "5 data, 4 indices", "plane": "data have dimensions [5 1]", "shape": "shape []",
	} {
		o := format.Options{"object": "/obs,/" + group, "sample": "axis"}
		if _, err := load([]string{"sparse_damaged.h5"}, nil, o); !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), group+": a sparse matrix") || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", group, err)
		}
		if s, err := load([]string{"sparse_damaged.h5"}, []string{"!" + group}, o); err != nil || strings.Join(s.order, " ") != "obs/n" {
			t.Errorf("without %s: %v", group, err)
		}
	}
	s, err := load([]string{"sparse_damaged.h5"}, nil, format.Options{"object": "/obs,/floats", "sample": "axis"})
	if err != nil || strings.Join(s.order, " ") != "obs/n" || !strings.Contains(s.left["floats/data"], "no whole numbers") {
		t.Errorf("floats: %v", err)
	}
	for group, why := range map[string]string{
		"falls": "sample 1: a sparse matrix of 5 values whose row 1 goes from 4 to 3", "leaps": "sample 0: a sparse matrix of 5 values whose row 0 goes from 0 to 9",
		"outside": "sample 3: a sparse matrix of 3 columns", "negative": "sample 3: a sparse matrix of 3 columns",
	} {
		_, err := load([]string{"sparse_damaged.h5"}, nil, format.Options{"object": "/obs,/" + group})
		if !errors.Is(err, shardify.ErrCorrupt) || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", group, err)
		}
	}
}

// TestTablesOfColumnsAreNoSamples: a matrix of one feature has as many values as barcodes, and
// the table of its feature has another length.
func TestTablesOfColumnsAreNoSamples(t *testing.T) {
	s := mustLoad(t, []string{"tenx_tall.h5"}, nil, nil)
	if got := strings.Join(s.order, " "); got != "matrix/barcodes matrix/data matrix/indices" {
		t.Errorf("fields %s; left out %v", got, s.left)
	}
}

func TestAwkwardArraysAreNamed(t *testing.T) {
	s := mustLoad(t, []string{"awkward.h5ad"}, nil, nil)
	if s.samples != 5 || !strings.Contains(s.left["obsm/ak"], "awkward array") {
		t.Errorf("%d samples, left out: %v", s.samples, s.left)
	}
}
