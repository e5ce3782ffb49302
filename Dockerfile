# The desk as a container: `docker build -t countersign-desk .`; docs/operations.md, "Containers".
FROM python:3.13-slim AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/app.txt requirements/s3.txt /app/requirements/
RUN python -m venv /venv \
    && /venv/bin/pip install --require-hashes -r /app/requirements/app.txt \
    && /venv/bin/pip install --require-hashes -r /app/requirements/s3.txt
COPY manage.py pyproject.toml /app/
COPY script/countersign script/image /app/script/
COPY config /app/config
COPY sessions_app /app/sessions_app
COPY vcon_app /app/vcon_app
COPY templates /app/templates
COPY static /app/static
RUN PYTHON=/venv/bin/python /app/script/image /data && /venv/bin/python -m compileall -q /app/config /app/sessions_app /app/vcon_app

FROM python:3.13-slim
RUN useradd --system --uid 10001 --home-dir /var/lib/countersign --create-home countersign \
    && ln -s /app/script/countersign /usr/local/bin/countersign
COPY --from=build /venv /venv
COPY --from=build /app /app
COPY --from=build --chown=10001:10001 /data /var/lib/countersign
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 COUNTERSIGN_DATA_DIR=/var/lib/countersign
WORKDIR /app
USER 10001
EXPOSE 8000
# /readyz where there is a web server; elsewhere the heartbeats of the parts.
HEALTHCHECK --interval=10s --timeout=8s --start-period=60s --retries=3 \
    CMD ["python", "-m", "config.processes.alive", "0.0.0.0", "8000"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["countersign"]
# Everything in one container, with the database that ships; compose.yaml has each part alone.
CMD ["up", "--host", "0.0.0.0", "--port", "8000"]
