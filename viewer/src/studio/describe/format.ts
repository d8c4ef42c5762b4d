// Format of model files, and the values in the source of the draft, both from the server.

import type { Connection } from "../connection";
import { retry } from "../retry";

export type Form = "value" | "text" | "body" | "bodies" | "coordinate" | "switch" | "choice" | "joint" | "table";
export interface About { expects: string; required: boolean; form: Form; options?: string[]; default?: string }
export type Keys = Record<string, About>;
export interface Format {
  sections: string[]; families: Record<string, string[]>; head: Keys; tables: Record<string, Keys>; named: string[];
  short: Record<string, string>; elements: Record<string, Keys>; joints: Record<string, Keys>; loop_joints: Record<string, Keys>;
}

export type Values = Record<string, string>;
export type ElementValues = Record<string, string | Values[]>; // joints are nested tables
export interface OutlineElement { kind: string; index: number; values: ElementValues }
export interface Outline {
  head: Values; tables: Record<string, Values | Record<string, Values>>; elements: OutlineElement[]; convention: string; bodies: string[];
}
export type KeyPath = (string | number)[];

let format: Promise<Format> | null = null;

/** Keys of all elements, requested once. */
export function formatOf(connection: Connection): Promise<Format> {
  format ??= retry(() => connection.request<Format>("format").result).catch((error: unknown) => { format = null; throw error; });
  return format;
}

/** The entries of a table with names, such as parameters. */
export function entriesOf(outline: Outline | null, table: string): Record<string, Values> {
  return (outline?.tables[table] ?? {}) as Record<string, Values>;
}

/** A key in words. */
export function words(key: string): string {
  const text = key.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
