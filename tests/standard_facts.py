"""The proofs of the standard set: for each criterion where in the sources its fact stands.

A line of a table is task, criterion (counted from 1), file, definition (`-`: the whole file), regular expression.
A definition is a def or class, a method as `Type.method`, a constant; see `facts.definition`.
"""

from __future__ import annotations

from facts import Fact

PROOFS = r"""
urllib3-exp-01 1 src/urllib3/poolmanager.py _default_key_normalizer return key_class\(\*\*context\)
urllib3-exp-01 1 src/urllib3/poolmanager.py PoolManager.connection_from_pool_key pool = self\.pools\.get\(pool_key\)
urllib3-exp-01 2 src/urllib3/_collections.py RecentlyUsedContainer.__setitem__ self\._container\.popitem\(last=False\)
urllib3-exp-01 3 src/urllib3/connectionpool.py HTTPConnectionPool._get_conn return conn or self\._new_conn\(\)
urllib3-exp-01 3 src/urllib3/connectionpool.py ConnectionPool QueueCls = queue\.LifoQueue
urllib3-exp-01 4 src/urllib3/connectionpool.py HTTPConnectionPool._get_conn if conn and is_connection_dropped\(conn\)
urllib3-exp-01 4 src/urllib3/connection.py HTTPConnection.is_connected return not wait_for_read\(self\.sock, timeout=0\.0\)
urllib3-exp-01 4 src/urllib3/util/connection.py is_connection_dropped return not conn\.is_connected
urllib3-exp-01 5 src/urllib3/connectionpool.py HTTPConnectionPool._put_conn except queue\.Full:\s+#.*\s+if conn:\s+conn\.close\(\)
urllib3-exp-01 5 src/urllib3/connectionpool.py HTTPConnectionPool._put_conn raise FullPoolError
urllib3-dbg-01 1 src/urllib3/util/retry.py Retry.is_retry if not self\._is_method_retryable\(method\):\s+return False
urllib3-dbg-01 1 src/urllib3/util/retry.py Retry \["HEAD", "GET", "PUT", "DELETE", "OPTIONS", "TRACE"\]
urllib3-dbg-01 2 src/urllib3/util/retry.py Retry.get_backoff_time if consecutive_errors_len <= 1:\s+return 0
urllib3-dbg-01 3 src/urllib3/util/retry.py Retry.sleep slept = self\.sleep_for_retry\(response\)
urllib3-dbg-01 3 src/urllib3/util/retry.py Retry.sleep_for_retry time\.sleep\(retry_after\)
urllib3-dbg-01 4 src/urllib3/connectionpool.py HTTPConnectionPool.urlopen if retries\.raise_on_status:\s+response\.drain_conn\(\)\s+raise\s+return response
urllib3-chg-01 1 src/urllib3/util/proxy.py - ^def connection_requires_http_tunnel\(
urllib3-chg-01 2 src/urllib3/util/proxy.py connection_requires_http_tunnel proxy_config\.use_forwarding_for_https
urllib3-chg-01 2 src/urllib3/util/proxy.py connection_requires_http_tunnel destination_scheme == "http"
urllib3-chg-01 3 src/urllib3/connectionpool.py HTTPConnectionPool.urlopen http_tunnel_required = connection_requires_http_tunnel\(
urllib3-chg-01 3 src/urllib3/connectionpool.py HTTPConnectionPool.urlopen http_tunnel_required and conn\.is_closed:\s+try:\s+self\._prepare_proxy\(conn\)
urllib3-chg-01 4 src/urllib3/poolmanager.py PoolManager._proxy_requires_url_absolute_form return not connection_requires_http_tunnel\(
urllib3-chg-01 4 src/urllib3/poolmanager.py PoolManager.urlopen if self\._proxy_requires_url_absolute_form\(u\):
urllib3-chg-01 5 src/urllib3/poolmanager.py ProxyManager.urlopen if not connection_requires_http_tunnel\(
urllib3-chg-01 5 src/urllib3/poolmanager.py ProxyManager.urlopen self\._set_proxy_headers\(
urllib3-chg-01 5 test/test_util.py - connection_requires_http_tunnel\(
urllib3-tgt-01 1 src/urllib3/poolmanager.py PoolManager.__init__ num_pools: int = 10,
urllib3-tgt-01 2 src/urllib3/connectionpool.py HTTPConnectionPool.__init__ maxsize: int = 1,\s+block: bool = False,
urllib3-tgt-01 3 src/urllib3/util/retry.py - ^Retry\.DEFAULT = Retry\(3\)$
urllib3-tgt-01 3 src/urllib3/connectionpool.py HTTPConnectionPool.__init__ retries = Retry\.DEFAULT
urllib3-tgt-01 4 src/urllib3/poolmanager.py - ^_DEFAULT_BLOCKSIZE = 16384$
urllib3-tgt-01 5 src/urllib3/util/retry.py Retry DEFAULT_BACKOFF_MAX = 120$

starlette-exp-01 1 starlette/applications.py Starlette.build_middleware_stack (?s)Middleware\(ServerErrorMiddleware.*\+ self\.user_middleware.*Middleware\(ExceptionMiddleware
starlette-exp-01 1 starlette/applications.py Starlette.build_middleware_stack if key in \(500, Exception\):
starlette-exp-01 2 starlette/middleware/exceptions.py ExceptionMiddleware.__call__ scope\["starlette\.exception_handlers"\] =
starlette-exp-01 3 starlette/routing.py request_response await wrap_app_handling_exceptions\(app, request\)
starlette-exp-01 4 starlette/_exception_handler.py wrap_app_handling_exceptions (?s)status_handlers\.get\(exc\.status_code\).*_lookup_exception_handler\(exception_handlers, exc\)
starlette-exp-01 4 starlette/_exception_handler.py _lookup_exception_handler for cls in type\(exc\)\.__mro__:
starlette-exp-01 5 starlette/middleware/errors.py ServerErrorMiddleware.__call__ (?s)await response\(scope, receive, send\)\n\n.*raise exc
starlette-dbg-01 1 starlette/middleware/base.py BaseHTTPMiddleware.__call__ request = _CachedRequest\(scope, receive\)
starlette-dbg-01 1 starlette/middleware/base.py _CachedRequest.wrapped_receive "body": self\._body,
starlette-dbg-01 2 starlette/middleware/base.py _CachedRequest.wrapped_receive (?s)elif self\._stream_consumed:.*"body": b"",
starlette-dbg-01 3 starlette/middleware/base.py BaseHTTPMiddleware.__call__ (?s)except anyio\.EndOfStream:\s+if app_exc is not None:.*raise RuntimeError\("No response returned\."\)
starlette-dbg-01 4 starlette/middleware/base.py BaseHTTPMiddleware.__call__ if scope\["type"\] != "http":\s+await self\.app\(scope, receive, send\)\s+return
starlette-chg-01 1 starlette/_utils.py - ^def get_route_path\(
starlette-chg-01 2 starlette/_utils.py get_route_path scope\.get\("root_path", ""\)
starlette-chg-01 2 starlette/_utils.py get_route_path return path\[len\(root_path\) :\]
starlette-chg-01 3 starlette/routing.py Route.matches get_route_path\(scope\)
starlette-chg-01 3 starlette/routing.py WebSocketRoute.matches get_route_path\(scope\)
starlette-chg-01 3 starlette/routing.py Mount.matches get_route_path\(scope\)
starlette-chg-01 4 starlette/routing.py Router.app (?s)get_route_path\(scope\).*self\.redirect_slashes
starlette-chg-01 5 starlette/staticfiles.py StaticFiles.get_path get_route_path\(scope\)
starlette-chg-01 5 tests/test__utils.py - get_route_path\(scope\) ==
starlette-tgt-01 1 starlette/requests.py Request.form max_files: int \| float = 1000,
starlette-tgt-01 2 starlette/requests.py Request.form max_fields: int \| float = 1000,
starlette-tgt-01 3 starlette/formparsers.py MultiPartParser.__init__ max_part_size: int = 1024 \* 1024,
starlette-tgt-01 3 starlette/formparsers.py MultiPartParser.on_part_data > self\.max_part_size:
starlette-tgt-01 4 starlette/formparsers.py MultiPartParser spool_max_size = 1024 \* 1024
starlette-tgt-01 4 starlette/formparsers.py MultiPartParser.on_headers_finished SpooledTemporaryFile\(max_size=self\.spool_max_size\)
starlette-tgt-01 5 starlette/requests.py Request._get_form except MultiPartException as exc:\s+if "app" in self\.scope:\s+raise HTTPException\(status_code=400

marshmallow-exp-01 1 src/marshmallow/schema.py Schema._do_load (?s)_invoke_load_processors\(\s+PRE_LOAD.*self\._deserialize\(.*_invoke_field_validators\(.*_invoke_schema_validators\(.*_invoke_load_processors\(\s+POST_LOAD
marshmallow-exp-01 2 src/marshmallow/fields.py Field.deserialize (?s)self\._validate_missing\(value\).*self\._deserialize\(value.*self\._validate\(output\)
marshmallow-exp-01 3 src/marshmallow/schema.py Schema._call_and_store except ValidationError as error:\s+error_store\.store_error\(
marshmallow-exp-01 4 src/marshmallow/schema.py Schema._invoke_schema_validators if field_errors and validator_kwargs\["skip_on_field_errors"\]:\s+continue
marshmallow-exp-01 5 src/marshmallow/error_store.py ErrorStore.store_error self\.errors = merge_errors\(
marshmallow-exp-01 5 src/marshmallow/error_store.py merge_errors SCHEMA: merge_errors\(
marshmallow-dbg-01 1 src/marshmallow/fields.py Nested._load self\.schema\.load\(value, unknown=self\.unknown, partial=partial\)
marshmallow-dbg-01 1 src/marshmallow/fields.py Nested.__init__ unknown: types\.UnknownOption \| None = None
marshmallow-dbg-01 2 src/marshmallow/schema.py Schema._init_fields if not field_obj\.dump_only:\s+load_fields\[field_name\] = field_obj
marshmallow-dbg-01 2 src/marshmallow/schema.py Schema._deserialize for key in set\(data\) - fields:
marshmallow-dbg-01 3 src/marshmallow/class_registry.py get_class (?s)if len\(classes\) > 1:.*raise RegistryError\(
marshmallow-dbg-01 4 src/marshmallow/schema.py Schema._deserialize f\[len_prefix:\] for f in partial if f\.startswith\(prefix\)
marshmallow-dbg-01 4 src/marshmallow/schema.py Schema._deserialize d_kwargs\["partial"\] = sub_partial
marshmallow-chg-01 1 src/marshmallow/schema.py Schema._deserialize (?s)data_key if field_obj\.data_key is not None else attr_name.*data_key if field_obj\.data_key is not None else field_name
marshmallow-chg-01 2 src/marshmallow/schema.py Schema._serialize key = field_obj\.data_key if field_obj\.data_key is not None else attr_name
marshmallow-chg-01 3 src/marshmallow/schema.py Schema._init_fields dump_data_keys = \[\s+field_obj\.data_key if field_obj\.data_key is not None else name
marshmallow-chg-01 4 src/marshmallow/schema.py Schema._run_validator if field_obj\.data_key is not None
marshmallow-chg-01 4 src/marshmallow/schema.py Schema._invoke_field_validators if field_obj\.data_key is not None
marshmallow-chg-01 5 src/marshmallow/fields.py Pluck._field_data_key return only_field\.data_key or self\.field_name
marshmallow-tgt-01 1 src/marshmallow/fields.py DateTime DEFAULT_FORMAT = "iso"
marshmallow-tgt-01 1 src/marshmallow/fields.py DateTime "iso": dt\.datetime\.isoformat
marshmallow-tgt-01 2 src/marshmallow/fields.py TimeDelta.__init__ precision: str = SECONDS,
marshmallow-tgt-01 3 src/marshmallow/fields.py Float.__init__ allow_nan: bool = False,
marshmallow-tgt-01 3 src/marshmallow/fields.py Float._validated if self\.allow_nan is False:\s+if math\.isnan
marshmallow-tgt-01 4 src/marshmallow/validate.py URL default_schemes = \{"http", "https", "ftp", "ftps"\}
marshmallow-tgt-01 5 src/marshmallow/validate.py URL.RegexMemoizer._regex_generator r"localhost",
marshmallow-tgt-01 5 src/marshmallow/validate.py URL.RegexMemoizer._regex_generator if not require_tld:

rich-exp-01 1 rich/console.py Console._collect_renderables (?s)self\.render_str\(.*append\(Pretty\(renderable
rich-exp-01 2 rich/console.py Console.render renderable = rich_cast\(renderable\)
rich-exp-01 2 rich/console.py Console.render renderable\.__rich_console__\(self, _options\)
rich-exp-01 2 rich/console.py Console.render yield from self\.render\(render_output, _options\)
rich-exp-01 3 rich/live.py Live.process_renderables renderables = \[reset, \*renderables, self\._live_render\]
rich-exp-01 4 rich/console.py Console._write_buffer if self\._buffer_index == 0:
rich-exp-01 5 rich/console.py Console._render_buffer style\.render\(\s+text,\s+color_system=color_system
rich-dbg-01 1 rich/console.py Console.is_terminal (?s)if tty_compatible == "0":\s+return False.*environ\.get\("FORCE_COLOR"\)
rich-dbg-01 2 rich/console.py Console.size (?s)if self\.is_dumb_terminal:\s+return ConsoleDimensions\(80, 25\).*get\("COLUMNS"\)
rich-dbg-01 3 rich/console.py Console._detect_color_system (?s)get\("COLORTERM".*_TERM_COLORS\.get\(colors, ColorSystem\.STANDARD\)
rich-dbg-01 4 rich/console.py Console._render_buffer buffer = Segment\.remove_color\(buffer\)
rich-dbg-01 4 rich/segment.py Segment.remove_color colorless_style = style\.without_color
rich-chg-01 1 rich/console.py ConsoleOptions.ascii_only return not self\.encoding\.startswith\("utf"\)
rich-chg-01 2 rich/box.py Box.substitute if options\.ascii_only and not box\.ascii:\s+box = ASCII
rich-chg-01 2 rich/panel.py Panel.__rich_console__ self\.box\.substitute\(options
rich-chg-01 2 rich/table.py Table._render self\.box\.substitute\(
rich-chg-01 3 rich/tree.py Tree.__rich_console__ if options\.ascii_only:\s+line = self\.ASCII_GUIDES
rich-chg-01 4 rich/rule.py Rule.__rich_console__ "-"\s+if \(options\.ascii_only
rich-chg-01 4 rich/progress_bar.py ProgressBar.__rich_console__ options\.legacy_windows or options\.ascii_only
rich-chg-01 5 rich/syntax.py Syntax if self\.indent_guides and not options\.ascii_only:
rich-chg-01 5 rich/pretty.py Pretty.__rich_console__ if self\.indent_guides and not options\.ascii_only:
rich-tgt-01 1 rich/traceback.py install width: Optional\[int\] = 100,
rich-tgt-01 2 rich/traceback.py install code_width: Optional\[int\] = 88,
rich-tgt-01 3 rich/traceback.py install extra_lines: int = 3,
rich-tgt-01 4 rich/traceback.py - ^LOCALS_MAX_LENGTH = 10\nLOCALS_MAX_STRING = 80$
rich-tgt-01 5 rich/traceback.py install max_frames: int = 100,
rich-tgt-01 5 rich/traceback.py Traceback._render_stack (?s)self\.max_frames // 2,\s+len\(stack\.frames\) - self\.max_frames // 2

werkzeug-exp-01 1 src/werkzeug/routing/rules.py Rule._parse_rule yield RulePart\(
werkzeug-exp-01 1 src/werkzeug/routing/rules.py Rule._parse_rule weight = Weighting\(
werkzeug-exp-01 2 src/werkzeug/routing/matcher.py StateMachineMatcher.update state\.dynamic\.sort\(key=lambda entry: entry\[0\]\.weight\)
werkzeug-exp-01 2 src/werkzeug/routing/matcher.py StateMachineMatcher.add state\.static\.setdefault\(part\.content, State\(\)\)
werkzeug-exp-01 3 src/werkzeug/routing/matcher.py StateMachineMatcher.match (?s)if part in state\.static:.*for test_part, new_state in state\.dynamic:
werkzeug-exp-01 4 src/werkzeug/routing/matcher.py StateMachineMatcher.match except SlashRequired:\s+raise RequestPath\(
werkzeug-exp-01 4 src/werkzeug/routing/matcher.py StateMachineMatcher.match if self\.merge_slashes and rv is None:
werkzeug-exp-01 4 src/werkzeug/routing/map.py MapAdapter.match (?s)except RequestPath as e:.{0,200}raise RequestRedirect\(
werkzeug-exp-01 5 src/werkzeug/routing/map.py MapAdapter.match if e\.have_match_for:\s+raise MethodNotAllowed\(
werkzeug-exp-01 5 src/werkzeug/routing/map.py MapAdapter.match raise NotFound\(\) from None
werkzeug-dbg-01 1 src/werkzeug/wsgi.py get_input_stream return io\.BytesIO\(\) if safe_fallback else stream
werkzeug-dbg-01 1 src/werkzeug/wsgi.py get_input_stream if "wsgi\.input_terminated" in environ:
werkzeug-dbg-01 2 src/werkzeug/wrappers/request.py Request max_form_memory_size: int \| None = 500_000
werkzeug-dbg-01 3 src/werkzeug/formparser.py MultiPartParser.parse if field_size > self\.max_form_memory_size:\s+raise RequestEntityTooLarge\(\)
werkzeug-dbg-01 3 src/werkzeug/formparser.py MultiPartParser.parse isinstance\(event, File\):\s+current_part = event\s+field_size = None
werkzeug-dbg-01 4 src/werkzeug/formparser.py FormDataParser.parse except ValueError:\s+if not self\.silent:\s+raise
werkzeug-dbg-01 4 src/werkzeug/formparser.py FormDataParser.__init__ silent: bool = True,
werkzeug-dbg-01 5 src/werkzeug/formparser.py default_stream_factory max_size = 1024 \* 500
werkzeug-dbg-01 5 src/werkzeug/formparser.py default_stream_factory SpooledTemporaryFile\(max_size=max_size
werkzeug-chg-01 1 src/werkzeug/_internal.py _plain_int raise ValueError
werkzeug-chg-01 1 src/werkzeug/_internal.py - ^_plain_int_re = re\.compile\(r"-\?\\d\+", re\.ASCII\)
werkzeug-chg-01 2 src/werkzeug/http.py parse_range_header (?s)_plain_int\(.*except ValueError:\s+return None
werkzeug-chg-01 2 src/werkzeug/http.py parse_content_range_header (?s)_plain_int\(.*except ValueError:\s+return None
werkzeug-chg-01 3 src/werkzeug/sansio/utils.py get_content_length _plain_int\(http_content_length\)\)\s+except ValueError:\s+return 0
werkzeug-chg-01 4 src/werkzeug/formparser.py MultiPartParser.start_file_streaming (?s)_plain_int\(.*content_length = 0
werkzeug-chg-01 5 src/werkzeug/datastructures/file_storage.py FileStorage.content_length (?s)_plain_int\(.*return 0
werkzeug-tgt-01 1 src/werkzeug/security.py _hash_internal n = 2\*\*15\s+r = 8\s+p = 1
werkzeug-tgt-01 2 src/werkzeug/security.py generate_password_hash method: str = "scrypt", salt_length: int = 16
werkzeug-tgt-01 3 src/werkzeug/security.py - ^SALT_CHARS = "[a-zA-Z0-9]{62}"$
werkzeug-tgt-01 4 src/werkzeug/security.py - ^DEFAULT_PBKDF2_ITERATIONS = 1_000_000$
werkzeug-tgt-01 5 src/werkzeug/security.py check_password_hash except ValueError:\s+return False

ajv-exp-01 1 lib/compile/resolve.ts getSchemaRefs traverse\(schema, \{allKeys: true\}
ajv-exp-01 1 lib/compile/resolve.ts getSchemaRefs localRefs\[ref\] = sch
ajv-exp-01 1 lib/compile/resolve.ts getSchemaRefs addAnchor\.call\(this, sch\.\$anchor\)
ajv-exp-01 2 lib/compile/index.ts resolveRef (?s)root\.refs\[ref\].*resolve\.call\(this, root, ref\).*root\.localRefs\?\.\[ref\]
ajv-exp-01 2 lib/compile/index.ts resolve return sch \|\| this\.schemas\[ref\] \|\| resolveSchema\.call
ajv-exp-01 3 lib/compile/index.ts inlineOrCompile if \(inlineRef\(sch\.schema, this\.opts\.inlineRefs\)\) return sch\.schema
ajv-exp-01 3 lib/compile/resolve.ts inlineRef if \(limit === true\) return !hasRef\(schema\)
ajv-exp-01 4 lib/compile/index.ts getCompilingSchema for \(const sch of this\._compilations\)
ajv-exp-01 4 lib/vocabularies/core/ref.ts getValidate gen\.scopeValue\("wrapper", \{ref: sch\}\)
ajv-exp-01 5 lib/vocabularies/core/ref.ts def throw new MissingRefError\(
ajv-exp-01 5 lib/core.ts Ajv.compileAsync if \(!\(e instanceof MissingRefError\)\) throw e
ajv-dbg-01 1 lib/compile/validate/defaults.ts assignDefault if \(compositeRule\) \{\s+checkStrictMode\(it, `default is ignored
ajv-dbg-01 2 lib/compile/validate/index.ts checkNoDefault checkStrictMode\(it, "default is ignored in the schema root"\)
ajv-dbg-01 3 lib/core.ts requiredOptions strictTypes: o\.strictTypes \?\? s \?\? "log"
ajv-dbg-01 4 lib/compile/validate/dataType.ts assignParentData gen\.if\(_`\$\{parentData\} !== undefined`
ajv-dbg-01 5 lib/compile/validate/dataType.ts coerceData.coerceSpecificType == "string" && \$\{data\} && \$\{data\} == \+\$\{data\}
ajv-chg-01 1 lib/compile/util.ts checkStrictMode mode: boolean \| "log" = it\.opts\.strictSchema
ajv-chg-01 2 lib/vocabularies/applicator/items.ts - checkStrictMode\(it, msg, opts\.strictTuples\)
ajv-chg-01 2 lib/vocabularies/validation/required.ts - checkStrictMode\(it, msg, it\.opts\.strictRequired\)
ajv-chg-01 3 lib/compile/validate/index.ts strictTypesError checkStrictMode\(it, msg, it\.opts\.strictTypes\)
ajv-chg-01 4 lib/compile/util.ts checkUnknownRules checkStrictMode\(it, `unknown keyword
ajv-chg-01 4 lib/compile/validate/index.ts checkNoDefault checkStrictMode\(
ajv-chg-01 4 lib/compile/validate/defaults.ts assignDefault checkStrictMode\(
ajv-chg-01 5 lib/vocabularies/applicator/if.ts - checkStrictMode\(it, '"if" without
ajv-chg-01 5 lib/vocabularies/applicator/thenElse.ts - checkStrictMode\(it, `"\$\{keyword\}" without "if" is ignored`\)
ajv-chg-01 5 lib/vocabularies/applicator/additionalItems.ts - checkStrictMode\(it, '"additionalItems" is ignored
ajv-chg-01 5 lib/vocabularies/validation/limitContains.ts - checkStrictMode\(it, `"\$\{keyword\}" without "contains" is ignored`\)
ajv-tgt-01 1 lib/core.ts - ^const MAX_EXPRESSION = 200$
ajv-tgt-01 1 lib/core.ts requiredOptions loopRequired: o\.loopRequired \?\? MAX_EXPRESSION,\s+loopEnum: o\.loopEnum \?\? MAX_EXPRESSION
ajv-tgt-01 2 lib/core.ts requiredOptions const optimize = _optz === true \|\| _optz === undefined \? 1
ajv-tgt-01 3 lib/core.ts requiredOptions unicodeRegExp: o\.unicodeRegExp \?\? true
ajv-tgt-01 4 lib/core.ts requiredOptions addUsedSchema: o\.addUsedSchema \?\? true
ajv-tgt-01 4 lib/core.ts Ajv._addSchema if \(addSchema && !baseId\.startsWith\("#"\)\)
ajv-tgt-01 5 lib/ajv.ts - ^const META_SCHEMA_ID = "http://json-schema\.org/draft-07/schema"$
ajv-tgt-01 5 lib/ajv.ts Ajv.defaultMeta this\.getSchema\(META_SCHEMA_ID\) \? META_SCHEMA_ID
ajv-chg-01 5 lib/vocabularies/applicator/contains.ts - checkStrictMode\(it, `"minContains" == 0
ajv-chg-01 5 lib/vocabularies/dynamic/recursiveAnchor.ts - checkStrictMode\(cxt\.it, "\$recursiveAnchor: false is ignored"\)
ajv-chg-01 5 lib/vocabularies/applicator/patternProperties.ts - checkStrictMode\(

rxjs-exp-01 1 src/internal/Observable.ts Observable.subscribe new SafeSubscriber\(observerOrNext, error, complete\)
rxjs-exp-01 1 src/internal/Observable.ts Observable.subscribe operator\.call\(subscriber, source\)
rxjs-exp-01 2 src/internal/operators/OperatorSubscriber.ts OperatorSubscriber onNext\(value\);\s+\} catch \(err\) \{\s+destination\.error\(err\);
rxjs-exp-01 3 src/internal/Subscriber.ts ConsumerObserver.next catch \(error\) \{\s+handleUnhandledError\(error\);
rxjs-exp-01 3 src/internal/util/reportUnhandledError.ts reportUnhandledError (?s)timeoutProvider\.setTimeout\(.*onUnhandledError\(err\);.*throw err;
rxjs-exp-01 4 src/internal/Subscriber.ts Subscriber.constructor destination\.add\(this\);
rxjs-exp-01 5 src/internal/Subscription.ts Subscription.unsubscribe (?s)for \(const finalizer of _finalizers\).*throw new UnsubscriptionError\(errors\);
rxjs-dbg-01 1 src/internal/operators/shareReplay.ts shareReplay resetOnRefCountZero: refCount,
rxjs-dbg-01 1 src/internal/operators/shareReplay.ts shareReplay let refCount = false;
rxjs-dbg-01 2 src/internal/operators/shareReplay.ts shareReplay resetOnComplete: false,
rxjs-dbg-01 3 src/internal/operators/share.ts share resetOnError = true, resetOnComplete = true, resetOnRefCountZero = true
rxjs-dbg-01 3 src/internal/operators/share.ts handleReset if \(on === true\) \{\s+reset\(\);
rxjs-dbg-01 4 src/internal/operators/retry.ts retry // The notifier completed without emitting\.\s+//.*\s+subscriber\.complete\(\);
rxjs-chg-01 1 src/internal/util/executeSchedule.ts executeSchedule if \(!repeat\) \{(\s+//.*)+\s+return scheduleSubscription;
rxjs-chg-01 2 src/internal/operators/bufferTime.ts bufferTime executeSchedule\(subscriber, scheduler, startBuffer, bufferCreationInterval, true\)
rxjs-chg-01 2 src/internal/operators/windowTime.ts windowTime executeSchedule\(subscriber, scheduler, startWindow, windowCreationInterval, true\)
rxjs-chg-01 3 src/internal/operators/observeOn.ts observeOn executeSchedule\(subscriber, scheduler
rxjs-chg-01 3 src/internal/operators/timeout.ts timeout executeSchedule\(
rxjs-chg-01 4 src/internal/operators/mergeInternals.ts mergeInternals executeSchedule\(subscriber, innerSubScheduler
rxjs-chg-01 4 src/internal/observable/combineLatest.ts maybeSchedule executeSchedule\(subscription, scheduler, execute\)
rxjs-chg-01 5 src/internal/scheduled/scheduleIterable.ts scheduleIterable executeSchedule\(
rxjs-chg-01 5 src/internal/scheduled/scheduleAsyncIterable.ts scheduleAsyncIterable executeSchedule\(
rxjs-tgt-01 1 src/internal/operators/retry.ts retry const \{ count = Infinity, delay,
rxjs-tgt-01 2 src/internal/ReplaySubject.ts ReplaySubject.constructor this\._bufferSize = Math\.max\(1, _bufferSize\);
rxjs-tgt-01 3 src/internal/operators/throttle.ts throttle const \{ leading = true, trailing = false \} = config
rxjs-tgt-01 4 src/internal/operators/mergeMap.ts mergeMap concurrent: number = Infinity
rxjs-tgt-01 5 src/internal/ajax/ajax.ts - timeout: 0,
rxjs-tgt-01 5 src/internal/ajax/ajax.ts - method: 'GET',

fastify-exp-01 1 lib/pluginUtils.js registerPlugin checkVersion\.call\(this, fn\)\s+checkDecorators\.call\(this, fn\)\s+checkDependencies\.call\(this, fn\)
fastify-exp-01 2 lib/pluginUtils.js shouldSkipOverride fn\[Symbol\.for\('skip-override'\)\]
fastify-exp-01 3 lib/pluginOverride.js - const instance = Object\.create\(old\)
fastify-exp-01 4 lib/hooks.js buildHooks hooks\.onReady = \[\]\s+hooks\.onListen = \[\]\s+hooks\.preClose = \[\]
fastify-exp-01 4 lib/hooks.js buildHooks hooks\.onRequest = h\.onRequest\.slice\(\)
fastify-exp-01 5 lib/pluginOverride.js buildRoutePrefix return instancePrefix \+ pluginPrefix
fastify-dbg-01 1 lib/contentTypeParser.js getDefaultJsonParser.defaultJsonParser if \(body\.length === 0\) \{\s+done\(new FST_ERR_CTP_EMPTY_JSON_BODY\(\)
fastify-dbg-01 2 lib/contentTypeParser.js ContentTypeParser.run reply\.send\(new FST_ERR_CTP_INVALID_MEDIA_TYPE\(
fastify-dbg-01 3 lib/handleRequest.js handleRequest \.bodyless\.has\(method\)\) \{\s+handler\(request, reply\)\s+return
fastify-dbg-01 4 lib/error-handler.js handleError reply\[kReplyNextErrorHandler\] = Object\.getPrototypeOf\(errorHandler\)
fastify-dbg-01 5 lib/contentTypeParser.js ContentTypeParser.run reply\.header\('connection', 'close'\)
fastify-chg-01 1 lib/reply.js Reply.send if \(this\[kReplyIsError\] \|\| payload instanceof Error\) \{\s+this\[kReplyIsError\] = false\s+onErrorHook\(
fastify-chg-01 2 lib/handleRequest.js handleRequest reply\[kReplyIsError\] = true
fastify-chg-01 2 lib/handleRequest.js preValidationCallback reply\[kReplyIsError\] = true
fastify-chg-01 2 lib/handleRequest.js preHandlerCallbackInner (?s)reply\[kReplyIsError\] = true.*reply\[kReplyIsError\] = true
fastify-chg-01 3 lib/wrapThenable.js wrapThenable (?s)catch \(err\) \{\s+reply\[kReplyIsError\] = true.*reply\[kReplyIsError\] = true
fastify-chg-01 4 lib/contentTypeParser.js ContentTypeParser.run (?s)reply\[kReplyIsError\] = true.*function onDone.*reply\[kReplyIsError\] = true
fastify-chg-01 5 lib/route.js runPreParsing reply\[kReplyIsError\] = true
fastify-tgt-01 1 build/build-validation.js defaultInitOptions bodyLimit: 1024 \* 1024,
fastify-tgt-01 2 build/build-validation.js defaultInitOptions keepAliveTimeout: 72000,
fastify-tgt-01 3 build/build-validation.js defaultInitOptions pluginTimeout: 10000,
fastify-tgt-01 4 build/build-validation.js defaultInitOptions maxParamLength: 100,
fastify-tgt-01 5 build/build-validation.js defaultInitOptions requestIdHeader: false,

query-core-exp-01 1 src/queryCache.ts QueryCache.build let query = this\.get<TQueryFnData, TError, TData, TQueryKey>\(queryHash\)
query-core-exp-01 1 src/utils.ts hashKey Object\.keys\(val\)\s+\.sort\(\)
query-core-exp-01 2 src/query.ts Query.fetch (?s)this\.state\.fetchStatus !== 'idle'.*return this\.#retryer\.promise
query-core-exp-01 3 src/retryer.ts createRetryer const canStart = \(\) => canFetch\(config\.networkMode\)
query-core-exp-01 3 src/retryer.ts createRetryer if \(canStart\(\)\) \{\s+run\(\)\s+\} else \{\s+pause\(\)\.then\(run\)
query-core-exp-01 4 src/notifyManager.ts createNotifyManager if \(transactions\) \{\s+queue\.push\(callback\)
query-core-exp-01 4 src/notifyManager.ts createNotifyManager if \(!transactions\) \{\s+flush\(\)
query-core-exp-01 5 src/utils.ts replaceData (?s)options\.structuralSharing !== false.*return replaceEqualDeep\(prevData, data\)
query-core-dbg-01 1 src/query.ts Query.removeObserver (?s)if \(this\.#abortSignalConsumed\) \{\s+this\.#retryer\.cancel\(\{ revert: true \}\)\s+\} else \{\s+this\.#retryer\.cancelRetry\(\)
query-core-dbg-01 2 src/query.ts Query.fetch (?s)if \(data === undefined\).*throw new Error\(`\$\{this\.queryHash\} data is undefined`\)
query-core-dbg-01 3 src/removable.ts Removable.updateGcTime this\.gcTime = Math\.max\(\s+this\.gcTime \|\| 0,
query-core-dbg-01 4 src/retryer.ts createRetryer const canContinue = \(\) =>\s+focusManager\.isFocused\(\)
query-core-dbg-01 4 src/retryer.ts createRetryer return canContinue\(\) \? undefined : pause\(\)
query-core-dbg-01 5 src/queryObserver.ts QueryObserver.#updateRefetchInterval this\.options\.refetchIntervalInBackground \|\|\s+focusManager\.isFocused\(\)
query-core-chg-01 1 src/utils.ts resolveStaleTime typeof staleTime === 'function' \? staleTime\(query\) : staleTime
query-core-chg-01 2 src/queryClient.ts QueryClient.fetchQuery resolveStaleTime\(defaultedOptions\.staleTime, query\)
query-core-chg-01 2 src/queryClient.ts QueryClient.ensureQueryData resolveStaleTime\(defaultedOptions\.staleTime, query\)
query-core-chg-01 3 src/query.ts Query.isStatic resolveStaleTime\(observer\.options\.staleTime, this\) === 'static'
query-core-chg-01 4 src/queryObserver.ts QueryObserver.#updateStaleTimeout resolveStaleTime\(
query-core-chg-01 4 src/queryObserver.ts QueryObserver.setOptions resolveStaleTime\(
query-core-chg-01 5 src/queryObserver.ts shouldFetchOn resolveStaleTime\(
query-core-chg-01 5 src/queryObserver.ts isStale resolveStaleTime\(
query-core-tgt-01 1 src/retryer.ts createRetryer config\.retry \?\? \(isServer \? 0 : 3\)
query-core-tgt-01 2 src/mutation.ts Mutation.execute retry: this\.options\.retry \?\? 0,
query-core-tgt-01 3 src/retryer.ts defaultRetryDelay Math\.min\(1000 \* 2 \*\* failureCount, 30000\)
query-core-tgt-01 4 src/removable.ts Removable.updateGcTime isServer \? Infinity : 5 \* 60 \* 1000
query-core-tgt-01 5 src/retryer.ts createRetryer isServer \? 0 : 3
query-core-tgt-01 5 src/removable.ts Removable.updateGcTime isServer \? Infinity

pydantic-core-exp-01 1 src/validators/union.rs UnionValidator.validate_smart state\.exactness = Some\(Exactness::Exact\);\s+state\.fields_set_count = None;
pydantic-core-exp-01 2 src/validators/validation_state.rs Exactness Lax,\s+Strict,\s+Exact,
pydantic-core-exp-01 3 src/input/return_enums.rs ValidationMatch.unpack state\.floor_exactness\(self\.1\);
pydantic-core-exp-01 4 src/validators/model.rs ModelValidator.validate // Having to construct a new model is not an exact match\s+state\.floor_exactness\(Exactness::Strict\);
pydantic-core-exp-01 5 src/validators/union.rs UnionValidator.validate_smart \(Some\(cur\), Some\(new\)\) if cur != new => cur < new,\s+_ => \*cur_exactness < new_exactness
pydantic-core-exp-01 5 src/validators/union.rs UnionValidator.validate_smart (?s)\(Some\(Exactness::Exact\), None\) => \{.*return \{
pydantic-core-dbg-01 1 src/validators/definitions.rs DefinitionRefValidator.validate RecursionGuard::new\(state, id, self\.definition\.id\(\)\)
pydantic-core-dbg-01 2 src/recursion_guard.rs RecursionGuard.new (?s)RecursionError::Cyclic.*RecursionError::Depth
pydantic-core-dbg-01 2 src/recursion_guard.rs RecursionError Cyclic,(\s+///.*)+\s+Depth,
pydantic-core-dbg-01 3 src/recursion_guard.rs RECURSION_GUARD_LIMIT (?s)any\(PyPy, windows\).*99\s.*255
pydantic-core-dbg-01 4 src/validators/definitions.rs DefinitionRefValidator.validate if let Some\(id\) = input\.as_python\(\)\.map\(py_identity\)
pydantic-core-chg-01 1 src/validators/validation_state.rs ValidationState.floor_exactness self\.exactness = Some\(exactness\)
pydantic-core-chg-01 2 src/input/return_enums.rs ValidationMatch.unpack state\.floor_exactness\(self\.1\);
pydantic-core-chg-01 3 src/validators/any.rs AnyValidator.validate state\.floor_exactness\(Exactness::Strict\);
pydantic-core-chg-01 3 src/validators/model.rs ModelValidator.validate state\.floor_exactness\(Exactness::Strict\);
pydantic-core-chg-01 3 src/validators/dataclass.rs DataclassValidator.validate state\.floor_exactness\(Exactness::Strict\);
pydantic-core-chg-01 4 src/validators/url.rs - state\.floor_exactness\(Exactness::Lax\);
pydantic-core-chg-01 4 src/validators/datetime.rs DateTimeValidator.validate state\.floor_exactness\(Exactness::Lax\);
pydantic-core-chg-01 4 src/validators/date.rs DateValidator.validate state\.floor_exactness\(Exactness::Lax\);
pydantic-core-chg-01 4 src/validators/uuid.rs UuidValidator.validate state\.floor_exactness\(Exactness::Lax\);
pydantic-core-chg-01 5 src/validators/callable.rs CallableValidator.validate state\.floor_exactness\(Exactness::Lax\);
pydantic-core-chg-01 5 src/validators/enum_.rs - state\.floor_exactness\(Exactness::Lax\);
pydantic-core-chg-01 5 src/validators/lax_or_strict.rs LaxOrStrictValidator.validate state\.floor_exactness\(Exactness::Lax\);
pydantic-core-chg-01 5 src/validators/union.rs UnionValidator.validate_smart state\.floor_exactness\(exactness\);
pydantic-core-tgt-01 1 src/serializers/config.rs - TimedeltaMode,\s+"ser_json_timedelta",\s+Iso8601 =>
pydantic-core-tgt-01 2 src/serializers/config.rs - BytesMode,\s+"ser_json_bytes",\s+Utf8 =>
pydantic-core-tgt-01 3 src/serializers/config.rs - InfNanMode,\s+"ser_json_inf_nan",\s+Null =>
pydantic-core-tgt-01 4 src/validators/mod.rs SchemaValidator.py_new \.get_as\(intern!\(py, "cache_strings"\)\)\?\s+\.unwrap_or\(StringCacheMode::All\)
pydantic-core-tgt-01 5 src/recursion_guard.rs - ^const ARRAY_SIZE: usize = 16;$

rust-just-exp-01 1 src/search.rs Search.justfile (?s)directory\.ancestors\(\).*JUSTFILE_NAMES.*SearchError::MultipleCandidates
rust-just-exp-01 2 src/compiler.rs Compiler.compile (?s)while let Some\(current\) = stack\.pop\(\).*Lexer::lex\(.*Parser::parse\(
rust-just-exp-01 3 src/compiler.rs Compiler.find_module_file \(format!\("\{module\}\.just"\)\.into\(\), true\)
rust-just-exp-01 3 src/compiler.rs Compiler.find_module_file \{module\}/mod\.just
rust-just-exp-01 4 src/compiler.rs Compiler.compile current\.file_path\.contains\(&import\) \{\s+return Err\(Error::CircularImport
rust-just-exp-01 5 src/analyzer.rs Analyzer.justfile Ok\(Justfile \{
rust-just-dbg-01 1 src/ran.rs Ran.mutex \.entry\(recipe\.namepath\(\)\.into\(\)\)\s+\.or_default\(\)\s+\.entry\(arguments\.into\(\)\)
rust-just-dbg-01 2 src/justfile.rs Justfile.run_recipe recipe\.subsequents\(\),\s+dotenv,\s+&mut evaluator,\s+&Ran::default\(\)
rust-just-dbg-01 3 src/recipe.rs Recipe.run_linewise (?s)loop \{.*settings\.shell_command\(config\)
rust-just-dbg-01 4 src/load_dotenv.rs load_from_file settings\.dotenv_override \|\| env::var_os\(&key\)\.is_none\(\)
rust-just-dbg-01 5 src/load_dotenv.rs load_dotenv (?s)if !settings\.dotenv_load\s+&& !settings\.dotenv_override\s+&& !settings\.dotenv_required.*return Ok\(BTreeMap::new\(\)\)
rust-just-chg-01 1 src/keyword.rs Keyword NoExitMessage,
rust-just-chg-01 2 src/setting.rs Setting NoExitMessage\(bool\),
rust-just-chg-01 2 src/setting.rs Setting Self::NoExitMessage\(value\)
rust-just-chg-01 3 src/settings.rs Settings pub\(crate\) no_exit_message: bool,
rust-just-chg-01 3 src/settings.rs Settings Setting::NoExitMessage\(no_exit_message\)
rust-just-chg-01 4 src/parser.rs Parser.parse_set Keyword::NoExitMessage => Some\(Setting::NoExitMessage\(self\.parse_set_bool\(\)\?\)\)
rust-just-chg-01 5 src/node.rs - Setting::NoExitMessage\(value\)
rust-just-chg-01 5 src/recipe.rs Recipe.print_exit_message settings\.no_exit_message
rust-just-tgt-01 1 src/settings.rs - ^pub\(crate\) const DEFAULT_SHELL: &str = "sh";\npub\(crate\) const DEFAULT_SHELL_ARGS: &\[&str\] = &\["-cu"\];
rust-just-tgt-01 2 src/interpreter.rs Interpreter.default_script_interpreter from_raw\("-eu"\)\],\s+command: StringLiteral::from_raw\("sh"\)
rust-just-tgt-01 3 src/subcommand.rs - "fzf --multi --preview
rust-just-tgt-01 4 src/config.rs - \.default_value\("%H:%M:%S"\)
rust-just-tgt-01 5 src/execution_context.rs ExecutionContext.tempdir tempdir_builder\.prefix\("just-"\)

gojsonnet-exp-01 1 imports.go importCache.importCode cachedPV, isCached := cache\.codeCache\[foundAt\]
gojsonnet-exp-01 2 imports.go importCache.importAST (?s)cache\.astCache\[foundAt\].*program\.SnippetToAST\(
gojsonnet-exp-01 2 internal/program/program.go SnippetToAST (?s)parser\.SnippetToRawAST\(.*desugarAST\(&node\).*analyze\(node\)
gojsonnet-exp-01 3 imports.go FileImporter.Import (?s)importer\.tryPath\(dir, importedPath\).*for i := len\(importer\.JPaths\) - 1; !found && i >= 0; i--
gojsonnet-exp-01 4 imports.go importCache.importData if cached != contents \{\s+panic\(
gojsonnet-exp-01 5 vm.go VM.Importer vm\.flushCache\(\)
gojsonnet-exp-01 5 vm.go VM.ExtVar vm\.flushValueCache\(\)
gojsonnet-dbg-01 1 interpreter.go interpreter.newCall if s\.calls >= s\.limit \{\s+return makeRuntimeError\("max stack frames exceeded\."
gojsonnet-dbg-01 2 vm.go MakeVM MaxStack:\s+500,
gojsonnet-dbg-01 3 interpreter.go callStack.tailCallTrimStack if !s\.stack\[i\]\.trimmable \{\s+return
gojsonnet-dbg-01 3 interpreter.go interpreter.EvalInCleanEnv trimmable bool
gojsonnet-dbg-01 4 thunks.go closure.evalCall if arguments\.tailstrict \{\s+err := forceThunks\(
gojsonnet-dbg-01 3 thunks.go closure.evalCall EvalInCleanEnv\(&calledEnvironment, closure\.function\.Body, arguments\.tailstrict\)
gojsonnet-dbg-01 5 value.go objectIndex err := checkAssertions\(i, sb\.self\)
gojsonnet-dbg-01 5 vm.go MakeVM maxStackTraceSize: 20
gojsonnet-chg-01 1 imports.go Importer Import\(importedFrom, importedPath string\)
gojsonnet-chg-01 2 imports.go FileImporter.Import importer\.tryPath
gojsonnet-chg-01 2 imports.go MemoryImporter.Import importer\.Data\[importedPath\]
gojsonnet-chg-01 3 c-bindings/c-bindings.go importer.Import importedFrom, importedPath string
gojsonnet-chg-01 4 jsonnet_test.go importerWithHistory.Import return importer\.i\.Import\(importedFrom, importedPath\)
gojsonnet-chg-01 5 imports.go importCache.importData cache\.importer\.Import\(importedFrom, importedPath\)
gojsonnet-chg-01 5 imports.go importCache.importString cache\.importData\(
gojsonnet-chg-01 5 imports.go importCache.importBinary cache\.importData\(
gojsonnet-chg-01 5 imports.go importCache.importAST cache\.importData\(
gojsonnet-tgt-01 1 internal/formatter/jsonnetfmt.go DefaultOptions Indent:\s+2,
gojsonnet-tgt-01 2 internal/formatter/jsonnetfmt.go DefaultOptions MaxBlankLines:\s+2,
gojsonnet-tgt-01 3 internal/formatter/jsonnetfmt.go DefaultOptions StringStyle:\s+StringStyleSingle,
gojsonnet-tgt-01 4 internal/formatter/jsonnetfmt.go DefaultOptions CommentStyle:\s+CommentStyleSlash,
gojsonnet-tgt-01 5 internal/formatter/jsonnetfmt.go DefaultOptions PadArrays:\s+false,\s+PadObjects:\s+true,
"""


def _fact(line: str) -> Fact:
    task, criterion, file, within, regex = line.split(maxsplit=4)
    return Fact(task, int(criterion), file, regex, "" if within == "-" else within)


FACTS = tuple(_fact(line) for line in PROOFS.splitlines() if line)

# A change-impact task names all files, below a folder, that have this text.
DEPENDENTS = {
    "urllib3-chg-01": ("", r"connection_requires_http_tunnel\(", "proxy.py connectionpool.py poolmanager.py test_util.py"),
    "starlette-chg-01": ("", r"get_route_path\(", "_utils.py routing.py staticfiles.py test__utils.py"),
    "marshmallow-chg-01": ("", r"field_obj\.data_key|\.data_key or ", "schema.py fields.py"),
    "rich-chg-01": (
        "", r"\bascii_only\b", "console.py box.py pretty.py progress_bar.py rule.py syntax.py tree.py",
    ),
    "werkzeug-chg-01": ("", r"_plain_int\(", "_internal.py http.py utils.py formparser.py file_storage.py"),
    "ajv-chg-01": (
        "lib", r"checkStrictMode\(",
        "util.ts index.ts defaults.ts items.ts required.ts if.ts thenElse.ts additionalItems.ts contains.ts "
        "limitContains.ts patternProperties.ts recursiveAnchor.ts",
    ),
    "rxjs-chg-01": (
        "src", r"executeSchedule\(",
        "executeSchedule.ts bufferTime.ts windowTime.ts observeOn.ts timeout.ts mergeInternals.ts combineLatest.ts "
        "scheduleIterable.ts scheduleAsyncIterable.ts",
    ),
    "fastify-chg-01": (
        "lib", r"\[kReplyIsError\]", "reply.js handleRequest.js wrapThenable.js contentTypeParser.js route.js",
    ),
    "query-core-chg-01": ("src", r"resolveStaleTime[<(]", "utils.ts queryClient.ts query.ts queryObserver.ts"),
    "pydantic-core-chg-01": (
        "src", r"floor_exactness\(",
        "validation_state.rs return_enums.rs any.rs model.rs dataclass.rs url.rs datetime.rs date.rs uuid.rs "
        "callable.rs enum_.rs lax_or_strict.rs union.rs",
    ),
    "rust-just-chg-01": (
        "src", r"(Keyword|Setting)::NoExitMessage|NoExitMessage\(bool\)|\bno_exit_message\b",
        "setting.rs settings.rs parser.rs node.rs recipe.rs",
    ),
    "gojsonnet-chg-01": (
        "", r"importer\.(i\.)?Import\(|\) Import\(importedFrom", "imports.go c-bindings.go jsonnet_test.go",
    ),
}  # fmt: skip
