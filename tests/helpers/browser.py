"""A small client of the DevTools protocol: enough to open a page, look at it and click."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
import urllib.request
from pathlib import Path

import websocket

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
PATIENCE = 120.0


class Browser:
    """One Chromium process with a profile of its own."""

    def __init__(self, program: str, profile: Path) -> None:
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(profile)},
        )
        port_file = profile / "DevToolsActivePort"
        deadline = time.monotonic() + PATIENCE
        while not (port_file.exists() and port_file.read_text().count("\n")):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.close()
                raise RuntimeError("Chromium did not start")
            time.sleep(0.1)
        self._address = f"http://127.0.0.1:{port_file.read_text().splitlines()[0]}"

    def page(self) -> Page:
        """A new empty tab."""
        request = urllib.request.Request(f"{self._address}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return Page(json.load(answer)["webSocketDebuggerUrl"])

    def close(self) -> None:
        """End the process."""
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Page:
    """One tab; what it logs and asks of the network is kept."""

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, timeout=PATIENCE, suppress_origin=True)
        self._number = 0
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.frames: dict[str, str] = {}
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True)
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.call("Page.close")
        self._socket.close()

    def call(self, method: str, session: str | None = None, **params: object) -> dict:
        """One command and its answer; ``session`` is a frame that Chromium keeps in a process of its own."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        self._socket.send(json.dumps(message if session is None else {**message, "sessionId": session}))
        while True:
            message = json.loads(self._socket.recv())
            if message.get("id") == self._number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._note(message)

    def _note(self, event: dict) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"].get("text")))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.complaints.append(str(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(params["entry"]["text"])
            case "Target.attachedToTarget":
                self.frames[params["sessionId"]] = params["targetInfo"]["type"]
            case "Target.detachedFromTarget":
                self.frames.pop(params["sessionId"], None)

    def open(self, url: str) -> None:
        """Load a page to its end."""
        self.complaints.clear()
        self.requests.clear()
        self.call("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def shape(self, width: int, height: int = 900, scheme: str = "light") -> None:
        """The window's size and the colours that the reader prefers."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script: str, session: str | None = None) -> object:
        """The value of an expression."""
        answer = self.call("Runtime.evaluate", session, expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"])[:500])
        return answer["result"].get("value")

    def until(self, script: str, *, in_frame: bool = False) -> object:
        """Poll an expression until it is true, in the page or in any of its sandboxed frames."""
        deadline = time.monotonic() + PATIENCE
        while not (value := self._in_frames(script) if in_frame else self.run(script)):
            if time.monotonic() > deadline:
                raise TimeoutError(f"never true: {script}")
            time.sleep(0.1)
        return value

    def _in_frames(self, script: str) -> object:
        self.run("0")
        sessions = [session for session, kind in self.frames.items() if kind == "iframe"]
        return next((value for session in sessions if (value := self.run(script, session))), None)

    def picture(self, path: Path, *, whole: bool = True) -> None:
        """A screenshot."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(shot["data"]))
