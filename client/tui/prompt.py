"""A line of text while it is typed: what each key does to it. The screen decides what the finished line means."""

from __future__ import annotations

from msgspec.structs import replace

from client.tui.ui_state import Prompt


def typed_on(prompt: Prompt, key: str) -> Prompt:
    """The line after a key. Most keys that are not characters change nothing."""
    text, caret = prompt.text, prompt.caret
    match key:
        case "left":
            return replace(prompt, caret=max(caret - 1, 0))
        case "right":
            return replace(prompt, caret=min(caret + 1, len(text)))
        case "home" | "ctrl a":
            return replace(prompt, caret=0)
        case "end" | "ctrl e":
            return replace(prompt, caret=len(text))
        case "backspace" if caret:
            return replace(prompt, text=text[: caret - 1] + text[caret:], caret=caret - 1)
        case "delete":
            return replace(prompt, text=text[:caret] + text[caret + 1 :])
        case "ctrl u":
            return replace(prompt, text=text[caret:], caret=0)
        case _ if len(key) == 1 and key.isprintable():
            return replace(prompt, text=text[:caret] + key + text[caret:], caret=caret + 1)
        case _:
            return prompt
