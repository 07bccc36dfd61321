"""Checks that includes go downward only: a layer of dynd/ sees itself and the layers before it, some see fewer.
Architecture, section 10; python/ and tests/ may include anything."""
import pathlib
import re
import sys

ORDER = ["abi", "base", "plan", "memory", "type", "ops", "array", "kernel", "eval", "call", "io"]
# Layers that see less than all before them.
SEES = {
    "abi": set(),
    "plan": {"base"},
    "ops": {"abi", "base", "type"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<](?:\.\./)*dynd/([^">]+)[">]')

root = pathlib.Path(__file__).resolve().parent.parent
wrong, count = [], 0
for path in sorted((root / "dynd").rglob("*")):
    if path.suffix not in {".h", ".cpp", ".c", ".def", ".inc"}:
        continue
    count += 1
    file = path.relative_to(root)
    layer = file.parts[1]
    if len(file.parts) < 3 or layer not in ORDER:
        wrong.append(f"{file}: not in a layer ({', '.join(ORDER)})")
        continue
    allowed = SEES.get(layer, set(ORDER[: ORDER.index(layer)])) | {layer}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match and match[1].split("/")[0] not in allowed:
            wrong.append(f"{file}:{number}: {layer} must not include dynd/{match[1]}")
        elif not match and re.match(r'\s*#\s*include\s*"', line):
            wrong.append(f'{file}:{number}: include our headers as "dynd/<layer>/<file>"')

print("\n".join(wrong) if wrong else f"{count} files include downward only")
sys.exit(bool(wrong))
