package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hopwise/load/internal/atomicfile"
)

const (
	rowsFile    = "journeys.jsonl"
	vegetaFile  = "vegeta.gob"
	figuresFile = "generator.json"
)

func Write(folder string, rows []Row, g Generator) error {
	err := atomicfile.WriteRows(filepath.Join(folder, rowsFile), func(add func(any) error) error {
		for _, row := range rows {
			if err := add(row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := WriteVegeta(filepath.Join(folder, vegetaFile), g.Topology, rows); err != nil {
		return err
	}
	return atomicfile.WriteJSON(filepath.Join(folder, figuresFile), g)
}

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
	file, err := os.Open(filepath.Join(folder, rowsFile))
	if err != nil {
		return nil, g, err
	}
	defer file.Close()
	for decoder := json.NewDecoder(file); ; {
		var row Row
		switch err := decoder.Decode(&row); {
		case errors.Is(err, io.EOF):
			return rows, g, nil
		case err != nil:
			return nil, g, fmt.Errorf("%s of %s: %w", rowsFile, folder, err)
		}
		rows = append(rows, row)
	}
}
