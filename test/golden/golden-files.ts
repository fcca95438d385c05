/** The files under version control, and the same on a simulated disk. */
import * as fs from 'node:fs';
import { join } from 'node:path';
import type { Disk } from '@tributary/log';

/** Relative path -> bytes. */
export type Files = Map<string, Buffer>;

export function filesOnDisk(disk: Disk, root: string, within = ''): Files {
  const files: Files = new Map();
  for (const name of disk.list(`${root}${within}`)) {
    const path = `${within}/${name}`;
    if (disk.isDirectory(`${root}${path}`)) {
      for (const [inner, bytes] of filesOnDisk(disk, root, path)) files.set(inner, bytes);
      continue;
    }
    const file = disk.openFile(`${root}${path}`);
    files.set(path.slice(1), file.read(0, file.size));
    file.close();
  }
  return files;
}

export function filesUnder(directory: string): Files {
  const names = fs.readdirSync(directory, { recursive: true }) as string[];
  const paths = names.filter((name) => fs.statSync(join(directory, name)).isFile()).sort();
  return new Map(paths.map((path) => [path, fs.readFileSync(join(directory, path))]));
}

export function putOnDisk(disk: Disk, root: string, files: Files): void {
  for (const [path, bytes] of files) {
    const full = `${root}/${path}`;
    disk.makeDirectory(full.slice(0, full.lastIndexOf('/')));
    const file = disk.openFile(full, { create: true });
    file.append([bytes]);
    file.close();
  }
}

export function writeUnder(directory: string, files: Files): void {
  fs.rmSync(directory, { recursive: true, force: true });
  for (const [path, bytes] of files) {
    fs.mkdirSync(join(directory, path, '..'), { recursive: true });
    fs.writeFileSync(join(directory, path), bytes);
  }
}
