package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// The files of a replay's folder.
const (
	rowsFile    = "journeys.jsonl"
	vegetaFile  = "vegeta.gob"
	figuresFile = "generator.json"
)

// Write writes the files of a replay into its folder.
func Write(folder string, rows []Row, g Generator) error {
	if err := WriteRows(filepath.Join(folder, rowsFile), rows); err != nil {
		return err
	}
	if err := WriteVegeta(filepath.Join(folder, vegetaFile), g.Topology, rows); err != nil {
		return err
	}
	return g.Write(filepath.Join(folder, figuresFile))
}

// read reads what Write wrote.
func read(folder string) (rows []Row, g Generator, err error) {
	figures, err := os.ReadFile(filepath.Join(folder, figuresFile))
	if err != nil {
		return nil, g, err
	}
	if err := json.Unmarshal(figures, &g); err != nil {
		return nil, g, fmt.Errorf("%s of %s: %w", figuresFile, folder, err)
	}
	if g.Shard.Count == 0 {
		return nil, g, fmt.Errorf("%s of %s names no shard", figuresFile, folder)
	}
	text, err := os.ReadFile(filepath.Join(folder, rowsFile))
	if err != nil {
		return nil, g, err
	}
	if rows, err = all[Row](json.NewDecoder(bytes.NewReader(text)).Decode); err != nil {
		return nil, g, fmt.Errorf("%s of %s: %w", rowsFile, folder, err)
	}
	return rows, g, readStatuses(folder, rows)
}

// readStatuses fills in what of a row only vegeta's file has.
func readStatuses(folder string, rows []Row) error {
	text, err := os.ReadFile(filepath.Join(folder, vegetaFile))
	if err != nil {
		return err
	}
	decode := vegeta.NewDecoder(bytes.NewReader(text))
	hits, err := all[vegeta.Result](func(hit any) error { return decode(hit.(*vegeta.Result)) })
	if err != nil {
		return fmt.Errorf("%s of %s: %w", vegetaFile, folder, err)
	}
	if len(hits) != len(rows) {
		return fmt.Errorf("%s of %s has %d journeys, %s has %d", vegetaFile, folder, len(hits), rowsFile, len(rows))
	}
	for i := range rows {
		rows[i].Status = int(hits[i].Code)
	}
	return nil
}

// all decodes values until the end of their file.
func all[T any](decode func(any) error) (values []T, err error) {
	for {
		var value T
		switch err := decode(&value); {
		case errors.Is(err, io.EOF):
			return values, nil
		case err != nil:
			return nil, err
		}
		values = append(values, value)
	}
}
